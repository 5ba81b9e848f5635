// SPDX-License-Identifier: Apache-2.0

package program

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/build/hosttools/hosttest"
)

func TestProgramsAreStatic(t *testing.T) {
	p, err := artifact.Find()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(p.Bin("kubectl")); err != nil {
		hosttest.NotBuilt(t, fmt.Errorf("%w: run make build", err))
	}

	for _, m := range modules() {
		for _, program := range m.programs {
			path := p.Component(program.name)
			if program.bin {
				path = p.Bin(program.name)
			}

			f, err := elf.Open(path)
			if m.onDemand && errors.Is(err, fs.ErrNotExist) {
				continue // it was not built
			}

			if err != nil {
				t.Errorf("%s: %v", program.name, err)

				continue
			}

			for _, segment := range f.Progs {
				if segment.Type == elf.PT_INTERP {
					t.Errorf("%s is dynamically linked; nodes have no loader", program.name)
				}
			}

			if f.Section(".debug_info") != nil || f.Section(".symtab") != nil {
				t.Errorf("%s is not stripped", program.name)
			}

			f.Close()
		}
	}
}
