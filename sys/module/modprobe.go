// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// Modprobe is the program that the kernel runs to request a module (kernel.modprobe, /sbin/modprobe), with the arguments `-q -- name`.
// It returns the exit code. With -q there is no message for an unknown name, because the kernel requests many that do not exist.
func Modprobe(l *Loader, args []string, stderr io.Writer) int {
	quiet := false

	var words []string

	for _, a := range args {
		switch {
		case a == "--":
		case strings.HasPrefix(a, "-"):
			quiet = quiet || strings.Contains(a, "q")
		default:
			words = append(words, a)
		}
	}

	if len(words) == 0 {
		fmt.Fprintln(stderr, "modprobe: no kernel module given: want its name, then parameters as name=value")

		return 2
	}

	if index, err := l.Index(); err == nil {
		if ok, refused := index.onRequest(words[0]); !ok {
			fmt.Fprintf(stderr, "modprobe: %s: a program requested %s, which is not loaded on request: if it is needed, add it to machine.kernel.modules\n",
				words[0], strings.Join(refused, ", "))

			return 1
		}
	}

	err := l.Load(words[0], words[1:]...)
	if err == nil {
		return 0
	}

	if !quiet || !errors.Is(err, ErrNotFound) {
		fmt.Fprintln(stderr, "modprobe:", err)
	}

	return 1
}

// noDevice reports whether a driver found no device, which is common for aliases as general as those of CPUs.
func noDevice(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EOPNOTSUPP)
}
