// SPDX-License-Identifier: Apache-2.0

package module

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// Modprobe is what the kernel runs when it wants a module (kernel.modprobe, /sbin/modprobe): arguments are
// `-q -- name`. It returns the exit code. A name that nobody knows fails silently with -q, as the kernel
// asks for many that do not exist.
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
		fmt.Fprintln(stderr, "modprobe: give the name of a kernel module, then its parameters as name=value")

		return 2
	}

	if index, err := l.Index(); err == nil {
		if ok, refused := index.onRequest(words[0]); !ok {
			fmt.Fprintf(stderr, "modprobe: %s: a program asks for %s, which is not loaded on request: if it is needed, name it in machine.kernel.modules\n",
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

// noDevice tells that a driver found nothing to drive, which is common for aliases as wide as a CPU's.
func noDevice(err error) bool {
	return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EOPNOTSUPP)
}
