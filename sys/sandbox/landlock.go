// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	landlockRead  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	landlockFirst = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | landlockRead |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// landlockHandled returns the file accesses and the scopes that a version of Landlock's interface can restrict (landlock(7)).
func landlockHandled(version int) (access, scoped uint64) {
	access = landlockFirst

	if version >= 2 {
		access |= unix.LANDLOCK_ACCESS_FS_REFER
	}

	if version >= 3 {
		access |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}

	if version >= 5 {
		access |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}

	if version >= 6 {
		scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}

	return access, scoped
}

// landlock permanently restricts this process, and the program that it executes: it may read what is in the root, write what is
// writable, and execute only the program. It is a second protection, in case a process escapes its mounts. It requires no_new_privs.
// A kernel without Landlock has only the first protection, which HardeningConditions report.
//
// The rule for reading is on the root and not on each file, because a file that is bound over another one later is a different file.
func (b Box) landlock() error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	// A container engine may refuse the system call.
	if errors.Is(errno, unix.ENOSYS) || errors.Is(errno, unix.EOPNOTSUPP) || errors.Is(errno, unix.EPERM) {
		return nil
	}

	if errno != 0 {
		return fmt.Errorf("read the version of Landlock: %w", errno)
	}

	access, scoped := landlockHandled(int(version)) // a small number
	attr := unix.LandlockRulesetAttr{Handled_access_fs: access, Scoped: scoped}

	// Older kernels accept a longer structure if the fields that they do not know are zero.
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("create the rules of Landlock: %w", errno)
	}
	defer unix.Close(int(ruleset))

	if err := allowBelow(int(ruleset), "/", landlockRead); err != nil {
		return err
	}

	if err := allowBelow(int(ruleset), b.Path, unix.LANDLOCK_ACCESS_FS_EXECUTE|unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil {
		return err
	}

	for _, path := range b.Writable {
		if err := allowBelow(int(ruleset), path, access&^(unix.LANDLOCK_ACCESS_FS_EXECUTE)); err != nil {
			return err
		}
	}

	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("apply the rules of Landlock: %w", errno)
	}

	return nil
}

// ofFile are the accesses that a rule for a file may have; the others are only for folders.
const ofFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
	unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

func allowBelow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}
	defer unix.Close(fd)

	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("allow %s: %w", path, err)
	}

	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFile
	}

	// struct landlock_path_beneath_attr is packed: eight bytes of accesses, four of the descriptor.
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)} // a descriptor

	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", path, errno)
	}

	return nil
}
