// SPDX-License-Identifier: Apache-2.0

// Command debug attaches a debugger to process 1 of a machine of a local cluster. The machine is a container: its processes
// are processes of this computer. The machine stands still while the debugger has stopped it, and goes on when the debugger ends.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/seed-59268b81/talos/build/artifact"
	"github.com/seed-59268b81/talos/lab"
	"github.com/seed-59268b81/talos/lab/state"
)

// delve is the debugger, as go run finds it.
const delve = "github.com/go-delve/delve/cmd/dlv@v1.27.2"

func main() {
	var (
		clusters = flag.String("state", filepath.Join("out", "lab"), "`folder` of the clusters")
		name     = flag.String("name", "default", "the cluster")
		machine  = flag.String("machine", "", "the machine (default: the first)")
		script   = flag.String("init", "", "`file` of commands for the debugger")
	)

	flag.Parse()

	if err := run(context.Background(), filepath.Join(*clusters, *name), *machine, *script); err != nil {
		fmt.Fprintln(os.Stderr, "debug:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, name, script string) error {
	paths, err := artifact.Find()
	if err != nil {
		return err
	}

	pid, err := process(ctx, dir, name)
	if err != nil {
		return err
	}

	if err := same(paths.Debug(), fmt.Sprintf("/proc/%d/exe", pid)); err != nil {
		return err
	}

	args := []string{"run", delve, "attach", strconv.Itoa(pid), paths.Debug()}
	if script != "" {
		args = append(args, "--init", script)
	}

	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr

	return cmd.Run()
}

// process returns the id of a machine's process 1, as this computer sees it.
func process(ctx context.Context, dir, name string) (pid int, err error) {
	l, err := lab.Open(dir)
	if err != nil {
		return 0, err
	}

	node := l.Node(0)
	if name != "" {
		if node, err = l.NodeByName(name); err != nil {
			return 0, err
		}
	}

	if node.As() != state.Container {
		return 0, fmt.Errorf("machine %s is a virtual machine, whose processes no debugger reaches: make up IN=containers", node.Name)
	}

	status, err := node.Status(ctx)

	switch {
	case err != nil:
		return 0, err
	case status.Machine.PID == 0:
		return 0, fmt.Errorf("machine %s is off", node.Name)
	default:
		return status.Machine.PID, nil
	}
}

// same compares the code of two programs: symbols of another build would lead astray.
func same(symbols, running string) error {
	want, err := code(symbols)
	if err != nil {
		return fmt.Errorf("%w: run make debug, which builds it (target talos-debug)", err)
	}

	got, err := code(running)
	if err != nil {
		return err
	}

	if !bytes.Equal(want, got) {
		return errors.New("the machine runs another build than the sources are: make down, then make up IN=containers")
	}

	return nil
}

func code(program string) ([]byte, error) {
	file, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("read program %s: %w", program, err)
	}
	defer file.Close()

	text := file.Section(".text")
	if text == nil {
		return nil, fmt.Errorf("%s has no code", program)
	}

	data, err := text.Data()
	sum := sha256.Sum256(data)

	return sum[:], err
}
