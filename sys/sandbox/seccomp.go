// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// allowed are the system calls that a server written in Go makes: memory, threads, time, signals, sockets, files for reading. An
// attacker who controls the process cannot make the other three hundred, in which most of the kernel's vulnerabilities were. They
// fail as if the kernel did not have them, which Go handles for newer calls.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_CLOSE,
	unix.SYS_OPENAT, unix.SYS_NEWFSTATAT, unix.SYS_FSTAT, unix.SYS_READLINKAT, unix.SYS_GETDENTS64, unix.SYS_FCNTL,
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_ARCH_PRCTL, unix.SYS_PRCTL,
	unix.SYS_RSEQ, unix.SYS_SET_ROBUST_LIST, // glibc, in tests that are linked with it, ends without
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETRANDOM, unix.SYS_UNAME, unix.SYS_PRLIMIT64,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_TGKILL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETGID,
	unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT4, unix.SYS_SHUTDOWN, unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG,
	unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME, unix.SYS_SETSOCKOPT, unix.SYS_GETSOCKOPT,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
	unix.SYS_EXECVE, // the stage executes the program; nothing else can be executed
}

// Calls returns the number of allowed calls, with clone and socket, of which only some arguments are allowed.
func Calls() int { return len(allowed) + 2 }

// Offsets in struct seccomp_data of the call's number, the architecture, and the lower halves of arguments (linux/seccomp.h).
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
	argSize    = 8
)

// newNamespaces are the flags of clone that create namespaces; threads have none of them.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// program returns the filter.
func program() []bpf.Instruction {
	argument := func(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: offsetArgs + argSize*n, Size: 4} }
	allow, refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}

	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: offsetArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AUDIT_ARCH_X86_64, SkipTrue: 1},
		refuse, // calls of 32-bit programs have other numbers
		bpf.LoadAbsolute{Off: offsetCall, Size: 4},
	}

	for _, call := range allowed {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, allow)
	}

	return append(p,
		// Threads.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE, SkipFalse: 4},
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: newNamespaces, SkipTrue: 1},
		allow,
		refuse,
		// Sockets of the families that a server uses, and netlink, which maps zones to links.
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SOCKET, SkipFalse: 9},
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 5},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_NETLINK, SkipFalse: 3},
		argument(2),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.NETLINK_ROUTE, SkipFalse: 1},
		allow,
		refuse,
		refuse,
	)
}

// Restrict permanently limits this process, and the programs that it executes, to the system calls of a server. It requires no_new_privs
// or CAP_SYS_ADMIN.
func Restrict() error {
	raw, err := bpf.Assemble(program())
	if err != nil {
		return fmt.Errorf("assemble the filter of system calls: %w", err)
	}

	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}

	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} // some 150

	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))

	runtime.KeepAlive(filter)

	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}

	return nil
}
