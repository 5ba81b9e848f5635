// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// consoleKeep is how many logs of earlier boots are kept.
const consoleKeep = 20

// Console writes a machine's serial console to a file as text. Each line is preceded by the seconds since power-on or
// reset; the firmware's escape sequences are removed. The file at its path is the latest boot's; that of the boot
// before is at path + ".1", and so on.
type Console struct {
	path string

	mu    sync.Mutex
	file  *os.File
	start time.Time
	text  cleaner
}

// NewConsole returns a console that writes nothing before its first boot.
func NewConsole(path string) *Console { return &Console{path: path} }

// Boot starts the log of another boot.
func (c *Console) Boot() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if err := c.close(); err != nil {
		return err
	}

	for i := consoleKeep; i > 0; i-- {
		if err := os.Rename(c.numbered(i-1), c.numbered(i)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("keep the console of the boot before: %w", err)
		}
	}

	file, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("open the console log: %w", err)
	}

	c.file, c.start, c.text = file, time.Now(), cleaner{}

	return nil
}

func (c *Console) numbered(i int) string {
	if i == 0 {
		return c.path
	}

	return fmt.Sprintf("%s.%d", c.path, i)
}

// ReadFrom logs the output of a machine until it ends. It continues to read after a failed write: a machine whose
// console is not read blocks.
func (c *Console) ReadFrom(r io.Reader) (int64, error) {
	var (
		total int64
		lost  error
	)

	buf := make([]byte, 32<<10)

	for {
		n, err := r.Read(buf)
		total += int64(n)

		if writeErr := c.write(buf[:n]); lost == nil {
			lost = writeErr
		}

		if err == io.EOF {
			return total, lost
		}

		if err != nil {
			return total, errors.Join(lost, fmt.Errorf("read the serial console: %w", err))
		}
	}
}

func (c *Console) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.file == nil {
		return nil
	}

	text := c.text.clean(b, fmt.Sprintf("+%7.3f ", time.Since(c.start).Seconds()))
	if _, err := c.file.WriteString(text); err != nil {
		return fmt.Errorf("write the console log: %w", err)
	}

	return nil
}

// Close ends the latest boot's log.
func (c *Console) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.close()
}

func (c *Console) close() error {
	if c.file == nil {
		return nil
	}

	err := c.file.Close()
	c.file = nil

	return err
}

// cleaner converts output for a terminal to lines of text, a chunk at a time.
type cleaner struct {
	within escape
	inLine bool
}

// escape is the position in an escape sequence (ECMA-48).
type escape int

const (
	none    escape = iota
	started        // after ESC
	control        // after ESC [
	command        // after ESC ], P, ^ or _, up to BEL or ESC \
)

const (
	esc = 0x1b
	bel = 0x07
)

func (c *cleaner) clean(in []byte, stamp string) string {
	var out strings.Builder

	for _, b := range in {
		switch {
		case b == esc:
			c.within = started
		case c.within == started:
			c.within = none

			switch b {
			case '[':
				c.within = control
			case ']', 'P', '^', '_':
				c.within = command
			}
		case c.within == control:
			if b >= 0x40 && b <= 0x7e {
				c.within = none
			}
		case c.within == command && b != '\n': // a sequence without its end must not remove the next lines
			if b == bel {
				c.within = none
			}
		default:
			c.within = none
			c.plain(&out, b, stamp)
		}
	}

	return out.String()
}

func (c *cleaner) plain(out *strings.Builder, b byte, stamp string) {
	switch {
	case b == '\n':
		if c.inLine { // empty lines only separate removed screens
			out.WriteByte('\n')
		}

		c.inLine = false
	case b == '\t' || b >= 0x20 && b != 0x7f:
		if !c.inLine {
			out.WriteString(stamp)
		}

		c.inLine = true

		out.WriteByte(b)
	}
}
