// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-59268b81/talos/api/machine"
)

var (
	instruction = regexp.MustCompile(`^\{\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*(\w+)\s*\}\s*,?$`)
	between     = regexp.MustCompile(`\}\s*,?\s*\{`)
)

// maxInstructions is the kernel's limit of a filter.
const maxInstructions = 4096

// ParseFilter parses a filter program as tcpdump -dd prints it: instructions such as { 0x28, 0, 0, 0x0000000c }.
func ParseFilter(text string) ([]*machine.BPFInstruction, error) {
	var program []*machine.BPFInstruction

	for line := range strings.Lines(between.ReplaceAllString(text, "},\n{")) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}

		fields := instruction.FindStringSubmatch(line)
		if fields == nil {
			return nil, fmt.Errorf("filter: %q is not an instruction such as { 0x28, 0, 0, 0x0000000c }; generate a filter with: tcpdump -dd EXPRESSION", line)
		}

		var numbers [4]uint32

		for i, bits := range []int{16, 8, 8, 32} {
			n, err := strconv.ParseUint(fields[i+1], 0, bits)
			if err != nil {
				return nil, fmt.Errorf("filter: %q: %q is not a number of %d bits", line, fields[i+1], bits)
			}

			numbers[i] = uint32(n)
		}

		program = append(program, &machine.BPFInstruction{Op: numbers[0], Jt: numbers[1], Jf: numbers[2], K: numbers[3]})
	}

	if len(program) > maxInstructions {
		return nil, fmt.Errorf("filter: %d instructions, want at most %d, the limit of the kernel", len(program), maxInstructions)
	}

	return program, nil
}
