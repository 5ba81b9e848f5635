// SPDX-License-Identifier: Apache-2.0

// Command debug attaches a debugger to process 1 of a machine of a local cluster. The machine is a container: its processes
// are processes of this computer. The machine stands still while the debugger has stopped it, and goes on when the debugger ends.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
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

	exe := fmt.Sprintf("/proc/%d/exe", pid)
	if err := same(paths.Debug(), exe); err != nil {
		return err
	}

	home, err := os.MkdirTemp("", "debug")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)

	if err := configure(home, exe, paths.Debug()); err != nil {
		return fmt.Errorf("configure the debugger: %w", err)
	}

	fmt.Fprintln(os.Stderr, "debug: at the end the debugger asks whether to kill the process: answer n, else the machine restarts")

	args := []string{"run", delve, "attach", strconv.Itoa(pid)}
	if script != "" {
		args = append(args, "--init", script, "--allow-non-terminal-interactive")
	}

	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+home)

	return cmd.Run()
}

// configure writes the debugger's configuration: it finds the symbols by the GNU build ID of the running program.
func configure(home, exe, symbols string) error {
	id, err := buildID(exe)
	if err != nil {
		return err
	}

	symbols, err = filepath.Abs(symbols)
	if err != nil {
		return err
	}

	ids := filepath.Join(home, ".build-id")
	link := filepath.Join(ids, id[:2], id[2:]+".debug")
	config := filepath.Join(home, "dlv", "config.yml")

	return errors.Join(
		os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(symbols, link),
		os.MkdirAll(filepath.Dir(config), 0o755), os.WriteFile(config, fmt.Appendf(nil, "debug-info-directories: [%q]\n", ids), 0o644),
	)
}

// buildID returns the GNU build ID of a program, in hexadecimal digits.
func buildID(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("read program %s: %w", program, err)
	}
	defer file.Close()

	note := file.Section(".note.gnu.build-id")
	if note == nil {
		return "", fmt.Errorf("%s has no GNU build ID", program)
	}

	// A header of 12 bytes, the name "GNU" with a zero byte, and the ID.
	data, err := note.Data()
	if err != nil || len(data) < 18 {
		return "", fmt.Errorf("read the build ID of %s: %w", program, errors.Join(err, io.ErrUnexpectedEOF))
	}

	return hex.EncodeToString(data[16:]), nil
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
