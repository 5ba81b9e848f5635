// SPDX-License-Identifier: Apache-2.0

package bolt_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-59268b81/talos/cosi/bolt"
	"github.com/seed-59268b81/talos/cosi/conformance"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/typed"
	"github.com/seed-59268b81/talos/test/leak"
)

// victimPath is the environment variable with which TestKill runs this binary as the process to kill.
const victimPath = "BOLT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victimPath); path != "" {
		victim(path)
	}

	leak.Main(m)
}

// victim writes as fast as possible with several writers, and reports each acknowledged write. It does not return.
func victim(path string) {
	err := resource.Register[conformance.ItemSpec]() // before the store is read

	var st *bolt.Store
	if err == nil {
		st, err = bolt.Open(path)
	}

	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}

	var wg sync.WaitGroup

	for w := range 8 {
		wg.Go(func() {
			for {
				id := fmt.Sprint(w)

				r, err := st.Modify(context.Background(), conformance.NewItem(ns, id, ""), func(r resource.Resource) error {
					spec := r.(conformance.Item).TypedSpec()
					n, _ := strconv.Atoi(spec.Value) // empty is 0
					spec.Value = strconv.Itoa(n + 1)
					spec.Parts = []string{strings.Repeat(spec.Value+" ", 50)}

					return nil
				})
				if err != nil {
					fmt.Println("failed:", err)
					os.Exit(1)
				}

				fmt.Println(id, r.(conformance.Item).TypedSpec().Value)
			}
		})
	}

	wg.Wait()
}

// TestKill kills a process under load: every acknowledged write is stored, and no partial one. BOLT_TEST_KILLS sets the
// number of kills.
func TestKill(t *testing.T) {
	kills, _ := strconv.Atoi(os.Getenv("BOLT_TEST_KILLS"))
	kills = max(kills, 5)

	ok(t, resource.Register[conformance.ItemSpec]())

	path := filepath.Join(t.TempDir(), "db")
	acknowledged := map[string]int{}

	// On a busy machine the process may be killed each time before its first write.
	for i := 0; i < kills || len(acknowledged) == 0 && i < 20*kills; i++ {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), victimPath+"="+path)
		out, err := cmd.StdoutPipe()
		ok(t, err)
		var stderr bytes.Buffer

		cmd.Stderr = &stderr
		ok(t, cmd.Start())

		time.AfterFunc(time.Duration(20+rand.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })

		for lines := bufio.NewScanner(out); lines.Scan(); {
			id, value, found := strings.Cut(lines.Text(), " ")

			n, err := strconv.Atoi(value)
			if !found || err != nil {
				if strings.HasPrefix(lines.Text(), "failed") {
					t.Fatal(lines.Text())
				}

				continue // cut off by the kill
			}

			acknowledged[id] = max(acknowledged[id], n)
		}

		if err := cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("the victim ended before it was killed: %v\n%s", err, stderr.String())
		}

		check(t, path, acknowledged)
	}

	if len(acknowledged) == 0 {
		t.Error("no write was acknowledged: nothing was tested")
	}
}

func check(t *testing.T, path string, acknowledged map[string]int) {
	t.Helper()

	st := open(t, path)

	for id, least := range acknowledged {
		r, err := typed.Get[conformance.ItemSpec](t.Context(), st, ns, id)
		ok(t, err)

		spec := r.TypedSpec()
		n, err := strconv.Atoi(spec.Value)
		ok(t, err)

		if n < least {
			t.Errorf("%s: got write %d, write %d was acknowledged", id, n, least)
		}

		if r.Metadata().Version() != uint64(n) || spec.Parts[0] != strings.Repeat(spec.Value+" ", 50) {
			t.Errorf("%s: partial write: %s %v", id, r.Metadata(), spec)
		}
	}

	ok(t, st.Close())
}
