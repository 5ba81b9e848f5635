// SPDX-License-Identifier: Apache-2.0

// Package kmsg reads and writes the kernel's log, /dev/kmsg. The record format is the kernel's
// Documentation/ABI/testing/dev-kmsg: "priority,sequence,microseconds,flags[,…];message".
package kmsg

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/sys/cmdline"
)

// Path of the device.
const Path = "/dev/kmsg"

// Message is one record.
type Message struct {
	Facility int
	Severity int
	Sequence uint64
	// Since is the time since boot.
	Since time.Duration
	Text  string
}

var severities = [...]string{"emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"}

var facilities = [...]string{
	"kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
}

// Parse decodes one record as read from the device. It removes secrets: the kernel logs its command line.
func Parse(record []byte) (Message, error) {
	head, text, ok := bytes.Cut(record, []byte(";"))
	if !ok {
		return Message{}, fmt.Errorf("kmsg record %.40q: no ';' after the prefix", record)
	}

	fields := strings.Split(string(head), ",")
	if len(fields) < 3 {
		return Message{}, fmt.Errorf("kmsg record %.40q: %d fields in the prefix, want priority, sequence and time", record, len(fields))
	}

	var numbers [3]uint64

	for i, name := range []string{"priority", "sequence", "time"} {
		n, err := strconv.ParseUint(fields[i], 10, 63)
		if err != nil {
			return Message{}, fmt.Errorf("kmsg record: %s: %w", name, err)
		}

		numbers[i] = n
	}

	priority, sequence, micros := numbers[0], numbers[1], numbers[2]

	// The lines after the first are the record's dictionary entries.
	text, _, _ = bytes.Cut(text, []byte("\n"))

	return Message{
		Facility: int(priority >> 3), Severity: int(priority & 7), Sequence: sequence,
		Since: time.Duration(micros) * time.Microsecond, Text: cmdline.Redact(string(text)),
	}, nil
}

// FacilityName returns the name of the facility, or its number.
func (m Message) FacilityName() string {
	if m.Facility < len(facilities) {
		return facilities[m.Facility]
	}

	return strconv.Itoa(m.Facility)
}

// SeverityName returns the name of the severity.
func (m Message) SeverityName() string { return severities[m.Severity] }

// Format returns a message as talosctl dmesg prints it, given the time of boot.
func (m Message) Format(boot time.Time) string {
	return fmt.Sprintf("%s: %7s: [%s]: %s", m.FacilityName(), m.SeverityName(), boot.Add(m.Since).UTC().Format(time.RFC3339Nano), m.Text)
}
