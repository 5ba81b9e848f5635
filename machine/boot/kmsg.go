// SPDX-License-Identifier: Apache-2.0

package boot

import (
	"fmt"
	"os"
	"strings"
)

// kmsg writes lines to the kernel log, or to standard error if it cannot be opened.
type kmsg struct{ file *os.File }

func openKmsg() *kmsg {
	f, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		f = os.Stderr
	}

	return &kmsg{file: f}
}

// Levels of the kernel log: facility user (1), severity warning or info.
const (
	levelError = "<11>"
	levelInfo  = "<14>"
)

func (k *kmsg) infof(format string, args ...any)  { k.write(levelInfo, format, args...) }
func (k *kmsg) errorf(format string, args ...any) { k.write(levelError, format, args...) }

func (k *kmsg) write(level, format string, args ...any) {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		// One write is one record. An error cannot be reported anywhere.
		_, _ = fmt.Fprintf(k.file, "%s[talos] %s\n", level, strings.TrimSpace(line))
	}
}
