// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-59268b81/talos/sys/sandbox"
	"github.com/seed-59268b81/talos/test/leak"
)

// The test's own executable is the stage, and then the program, which prints what it can access.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case sandbox.Name:
		fmt.Println(sandbox.Main())
		os.Exit(1)
	case "inside":
		report()
		os.Exit(0)
	case "later":
		follow(os.Args[1])
		os.Exit(0)
	case "other":
		fmt.Println("executed: other")
		os.Exit(0)
	default:
		leak.Main(m)
	}
}

func report() {
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		fmt.Println("root:", e.Name())
	}

	fmt.Println("uid:", os.Getuid(), "gid:", os.Getgid())

	var files, core unix.Rlimit

	err := errors.Join(unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &files), unix.Prlimit(0, unix.RLIMIT_CORE, nil, &core))
	fmt.Println("limits:", files.Max <= 16384, core.Max == 0, err)

	fmt.Println("write root:", os.WriteFile("/x", nil, 0o600) != nil)

	// Threads, time, names of links and all that the runtime does still work.
	var wait sync.WaitGroup

	for range 20 {
		wait.Go(func() {
			runtime.LockOSThread() // a thread each
			time.Sleep(time.Millisecond)
		})
	}

	wait.Wait()

	// As package net does to map a zone to a link; with that package the test would need the libraries of the host.
	_, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	fmt.Println("links:", err)

	for name, call := range forbidden {
		if _, _, errno := unix.Syscall6(call[0], call[1], call[2], call[3], 0, 0, 0); errno == unix.ENOSYS {
			fmt.Println("refused:", name)
		}
	}

	for _, dir := range os.Args[1:] {
		fmt.Printf("write %s: %v\n", filepath.Base(dir), os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) == nil)
	}

	// The mounts would allow it.
	for _, dir := range os.Args[1:] {
		fmt.Println("executed:", syscall.Exec(filepath.Join(dir, "other"), []string{"other"}, nil)) //program:self a copy of the test
	}
}

// forbidden are calls that would succeed, or fail in another way, if they were allowed.
var forbidden = map[string][4]uintptr{
	"user namespace":      {unix.SYS_UNSHARE, unix.CLONE_NEWUSER},
	"clone of namespaces": {unix.SYS_CLONE, unix.CLONE_NEWUSER | uintptr(unix.SIGCHLD)},
	"clone3":              {unix.SYS_CLONE3},
	"setns":               {unix.SYS_SETNS},
	"mount":               {unix.SYS_MOUNT},
	"bpf":                 {unix.SYS_BPF},
	"io_uring":            {unix.SYS_IO_URING_SETUP, 1},
	"ptrace":              {unix.SYS_PTRACE},
	"keys":                {unix.SYS_KEYCTL},
	"userfaultfd":         {unix.SYS_USERFAULTFD},
	"perf events":         {unix.SYS_PERF_EVENT_OPEN},
	"another's memory":    {unix.SYS_PROCESS_VM_READV, 1},
	"kernel module":       {unix.SYS_FINIT_MODULE},
	"kill":                {unix.SYS_KILL, 1, 0},
	"packet socket":       {unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW},
	"vsock":               {unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM},
	"kernel crypto":       {unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET},
	"firewall":            {unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
}

// follow prints the content of a file, now and on each request.
func follow(path string) {
	for range 2 {
		text, err := os.ReadFile(path)
		fmt.Println(string(text), err)

		var ask [1]byte
		os.Stdin.Read(ask[:]) // the end is a request too
	}
}

// stage is the test's own program, for root.
func stage(t *testing.T) string {
	t.Helper()

	if os.Getuid() != 0 {
		t.Skip("needs root to make a mount namespace")
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	return self
}

// TestMountsOfLater binds a file over one that is already in the box, as machined does with those of /etc.
func TestMountsOfLater(t *testing.T) {
	self := stage(t)
	dir := t.TempDir()
	early, late := filepath.Join(dir, "early"), filepath.Join(dir, "late")

	for _, path := range []string{early, late} {
		if err := os.WriteFile(path, []byte(filepath.Base(path)), 0o644); err != nil { // the box has another user
			t.Fatal(err)
		}
	}

	// The test has a namespace of its own, whose mounts propagate as the system's do.
	runtime.LockOSThread() // and never unlocked: the thread ends with the test

	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Fatal(err)
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}

	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SHARED, ""); err != nil {
		t.Fatal(err)
	}

	path, argv, env, err := sandbox.Box{Path: self, Argv: []string{"later", early}, UID: 50, GID: 50, ReadOnly: []string{self, early}}.Command(self)
	if err != nil {
		t.Fatal(err)
	}

	//program:self the test, as the stage
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stderr: os.Stderr}

	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	lines := bufio.NewReader(out)
	next := func(want string) {
		if got, err := lines.ReadString('\n'); err != nil || got != want+" <nil>\n" {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}

	next("early")

	if err := unix.Mount(late, early, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}

	defer unix.Unmount(early, 0)

	in.Write([]byte{1}) // the answer shows an error
	next("late")
	in.Close() // ends the program

	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestBox(t *testing.T) {
	self := stage(t)
	dir := t.TempDir()
	for _, name := range []string{"read", "write"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}

		if err := os.Chmod(filepath.Join(dir, name), 0o777); err != nil { // only the mount must forbid it
			t.Fatal(err)
		}
	}

	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"read/other", "write/other"} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil { // it is executed
			t.Fatal(err)
		}
	}

	path, argv, env, err := sandbox.Box{
		Path: self, Argv: []string{"inside", dir + "/read", dir + "/write"}, UID: 50, GID: 50,
		ReadOnly: []string{self, dir + "/read"}, Writable: []string{dir + "/write"},
	}.Command(self)
	if err != nil {
		t.Fatal(err)
	}

	//program:self the test, as the stage
	out, err := (&exec.Cmd{Path: path, Args: argv, Env: env}).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for name := range forbidden {
		if !strings.Contains(string(out), "refused: "+name+"\n") {
			t.Errorf("%s: want it refused", name)
		}
	}

	if sandbox.Calls() > 60 {
		t.Errorf("got %d kinds of system calls that are allowed, want at most 60", sandbox.Calls())
	}

	t.Logf("%d kinds of system calls are allowed; %d that are not were tried", sandbox.Calls(), len(forbidden))

	for _, want := range []string{"links: <nil>", "uid: 50 gid: 50", "limits: true true <nil>", "write root: true", "write read: false", "write write: true", "root: tmp"} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("got no line %q in\n%s", want, out)
		}
	}

	// A kernel with Landlock has its version.
	if version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION); errno == 0 {
		if got := strings.Count(string(out), "executed: permission denied\n"); got != 2 {
			t.Errorf("Landlock %d: %d of 2 other programs were refused:\n%s", version, got, out)
		}
	} else {
		t.Logf("this kernel has no Landlock: %v", errno)
	}

	for _, hidden := range []string{"root: etc", "root: proc", "root: usr"} {
		if strings.Contains(string(out), hidden) {
			t.Errorf("the box shows %q:\n%s", hidden, out)
		}
	}
}
