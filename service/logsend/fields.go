// SPDX-License-Identifier: Apache-2.0

package logsend

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/seed-59268b81/talos/sys/kmsg"
)

// Names of the fields that this package sets.
const (
	fieldMessage = "msg"
	fieldTime    = "talos-time"
	fieldLevel   = "talos-level"
	fieldService = "talos-service"
)

// Fields are the fields of a JSON object.
type Fields map[string]any

// Names under which programs write the text and the level of a line that is a JSON object.
var (
	textNames  = []string{fieldMessage, "message"}
	levelNames = []string{"level", "lvl", "severity"}
)

// OfService returns the fields of a service's line, which was written at a time.
func OfService(service string, line []byte, at time.Time) Fields {
	text, level := string(line), ""

	fields := object(line)
	if fields != nil {
		text, level = cmp.Or(take(fields, textNames), text), take(fields, levelNames)
	} else {
		fields, level = Fields{}, levelOf(text)

		if service == ownLog {
			at, text = ownLine(text, at)
		}
	}

	fields[fieldMessage] = strings.ToValidUTF8(text, "�")
	fields[fieldLevel] = levelName(level)
	fields[fieldService] = service
	fields[fieldTime] = at.UTC().Format(time.RFC3339Nano)

	return fields
}

// object returns the fields of a line that is a JSON object, or nil.
func object(line []byte) Fields {
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte{'{'}) || !json.Valid(line) {
		return nil
	}

	var fields Fields

	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber() // a float would change large numbers

	if decoder.Decode(&fields) != nil {
		return nil
	}

	return fields
}

// take removes the fields with the names, and returns the first that is a text.
func take(fields Fields, names []string) (value string) {
	for _, name := range names {
		if text, ok := fields[name].(string); ok {
			if value == "" {
				value = text
			}

			delete(fields, name)
		}
	}

	return value
}

// OfKernel returns the fields of a message of the kernel, given the time of boot.
func OfKernel(m kmsg.Message, boot time.Time) Fields {
	return Fields{
		fieldMessage: m.Text,
		fieldTime:    boot.Add(m.Since).UTC().Format(time.RFC3339Nano),
		fieldLevel:   kernelLevels[m.Severity],
		"clock":      m.Since.Microseconds(),
		"facility":   m.FacilityName(),
		"priority":   m.SeverityName(),
		"seq":        m.Sequence,
	}
}

// encode returns the object with the tags. A tag does not replace a field that this package sets.
func encode(fields Fields, tags map[string]string) ([]byte, error) {
	if len(tags) > 0 {
		all := make(Fields, len(fields)+len(tags))
		maps.Copy(all, fields)

		for name, value := range tags {
			switch name {
			case fieldMessage, fieldTime, fieldLevel, fieldService:
			default:
				all[name] = value
			}
		}

		fields = all
	}

	var b bytes.Buffer

	encoder := json.NewEncoder(&b) // it ends with a newline
	encoder.SetEscapeHTML(false)

	err := encoder.Encode(fields)

	return b.Bytes(), err
}
