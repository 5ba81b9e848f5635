// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openTerminal opens a terminal of a size, and returns the sides of the user and of the program.
func openTerminal(width, height uint16) (person, program *os.File, err error) {
	if person, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}

	defer func() {
		if err != nil {
			person.Close() // the error says more
		}
	}()

	fd := int(person.Fd())

	if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, fmt.Errorf("unlock a terminal: %w", err)
	}

	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, fmt.Errorf("number of a terminal: %w", err)
	}

	if err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		return nil, nil, fmt.Errorf("size of a terminal: %w", err)
	}

	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)

	return person, program, err
}
