// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"regexp"
	"strings"
	"time"
)

// ownLog is the log whose lines begin with the time and the level: machined's.
const ownLog = "machined"

const ownTime = "2006-01-02T15:04:05.000Z"

// ownLine returns the time and the text of a line of machined, or the whole line and the other time if it has another form.
func ownLine(line string, otherwise time.Time) (time.Time, string) {
	stamp, rest, _ := strings.Cut(line, " ")

	at, err := time.Parse(ownTime, stamp)
	if err != nil {
		return otherwise, line
	}

	level, text, found := strings.Cut(rest, " ")
	if !found || levels[strings.ToLower(level)] == "" {
		return at, rest
	}

	return at, strings.TrimLeft(text, " ")
}

// The forms in which programs write the level in a line: machined's, logfmt, and that of Kubernetes' klog.
var (
	ownLevel    = regexp.MustCompile(`^\S+Z ([A-Z]+) `)
	logfmtLevel = regexp.MustCompile(`\blevel="?([a-zA-Z]+)`)
	klogLevel   = regexp.MustCompile(`^([IWEF])\d{4} `)
)

// levelOf returns the level that a line names, or "".
func levelOf(line string) string {
	for _, form := range []*regexp.Regexp{ownLevel, klogLevel, logfmtLevel} {
		if m := form.FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}

	return ""
}

// levels are the names of levels, by those that programs use.
var levels = map[string]string{
	"trace": "debug", "debug": "debug", "d": "debug",
	"info": "info", "i": "info", "notice": "info",
	"warn": "warn", "warning": "warn", "w": "warn",
	"error": "error", "err": "error", "e": "error",
	"fatal": "fatal", "f": "fatal", "critical": "fatal", "panic": "fatal", "dpanic": "fatal",
}

// levelName returns the name of a level; that of an unknown one is info.
func levelName(level string) string {
	if name := levels[strings.ToLower(level)]; name != "" {
		return name
	}

	return "info"
}

// kernelLevels are the names of levels, by the severities of the kernel.
var kernelLevels = [8]string{"fatal", "fatal", "fatal", "error", "warn", "info", "info", "debug"}
