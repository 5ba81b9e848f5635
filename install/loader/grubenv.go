// SPDX-License-Identifier: Apache-2.0

package loader

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A file of GRUB's variables has 1024 bytes: a first line, the variables, and padding.
const (
	grubEnvSize   = 1024
	grubEnvHeader = "# GRUB Environment Block\n"
)

// parseGRUBEnv reads the variables of a file.
func parseGRUBEnv(b []byte) (map[string]string, error) {
	if len(b) != grubEnvSize {
		return nil, fmt.Errorf("grubenv: has %d bytes, want %d", len(b), grubEnvSize)
	}

	body, ok := bytes.CutPrefix(b, []byte(grubEnvHeader))
	if !ok {
		return nil, errors.New("grubenv: has an unknown first line")
	}

	vars := map[string]string{}

	for len(body) > 0 && body[0] != '#' {
		var line []byte

		line, body = cutLine(body)

		name, value, ok := strings.Cut(string(line), "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("grubenv: line %q is not a variable", line)
		}

		vars[name] = value
	}

	return vars, nil
}

// cutLine returns the first line, without the backslashes that protect characters, and the rest.
func cutLine(b []byte) (line, rest []byte) {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == '\\' && i+1 < len(b):
			i++
			line = append(line, b[i])
		case b[i] == '\n':
			return line, b[i+1:]
		default:
			line = append(line, b[i])
		}
	}

	return line, nil
}

// encodeGRUBEnv returns the file with these variables.
func encodeGRUBEnv(vars map[string]string) ([]byte, error) {
	b := []byte(grubEnvHeader)
	protect := strings.NewReplacer("\\", "\\\\", "\n", "\\\n")

	for _, name := range slices.Sorted(maps.Keys(vars)) {
		b = append(b, name+"="+protect.Replace(vars[name])+"\n"...)
	}

	if len(b) > grubEnvSize {
		return nil, fmt.Errorf("grubenv: %d bytes do not fit", len(b))
	}

	return append(b, bytes.Repeat([]byte("#"), grubEnvSize-len(b))...), nil
}
