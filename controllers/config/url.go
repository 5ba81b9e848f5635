// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// The variables in the URL of talos.config.
const (
	variableUUID     = "uuid"     // of the firmware, unless META has another
	variableSerial   = "serial"   // of the firmware
	variableMAC      = "mac"      // of the first network card
	variableHostname = "hostname" // in use
	variableCode     = "code"     // of META
)

var variables = []string{variableUUID, variableSerial, variableMAC, variableHostname, variableCode}

// expand replaces the variables (${uuid}) in a URL. value returns that of one, with an error if it is not known yet. A value is text in one
// place: it changes neither the server, nor the segments of the path and the parameters beside its own.
func expand(text string, value func(name string) (string, error)) (string, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	server, path := cutBefore(rest, "/?#")
	path, query := cutBefore(path, "?#")
	at := strings.LastIndex(server, "@") + 1

	if scheme != "http" && scheme != "https" || server == "" {
		return "", errNoURL
	}

	out := scheme + "://"

	for _, part := range []struct {
		text             string
		constant, escape func(string) (string, error)
	}{
		{server[:at], verbatim, func(v string) (string, error) { return strings.ReplaceAll(url.QueryEscape(v), "+", "%20"), nil }}, // a password
		{server[at:], verbatim, ofHost},
		{path, escapePath, func(v string) (string, error) { return url.PathEscape(v), nil }},
		{query, verbatim, func(v string) (string, error) { return url.QueryEscape(v), nil }},
	} {
		filled, err := fill(part.text, value, part.constant, part.escape)
		if err != nil {
			return "", err
		}

		out += filled
	}

	u, err := url.Parse(out)
	if err != nil || u.Host == "" {
		return "", errNoURL
	}

	return u.String(), nil
}

var errNoURL = fmt.Errorf("want a URL with http:// or https://, or %s", metalISO)

// cutBefore cuts a text before the first of some characters.
func cutBefore(text, characters string) (before, after string) {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i], text[i:]
	}

	return text, ""
}

// openEscape matches a % that the next characters complete.
var openEscape = regexp.MustCompile(`%[0-9A-Fa-f]?$`)

// fill replaces the variables in a part of a URL. constant writes the text between them, and escape their values.
func fill(text string, value func(name string) (string, error), constant, escape func(string) (string, error)) (string, error) {
	var out strings.Builder

	for {
		before, after, found := strings.Cut(text, "${")

		written, err := constant(before)
		if err != nil {
			return "", err
		}

		out.WriteString(written)

		if !found {
			return out.String(), nil
		}

		name, after, closed := strings.Cut(after, "}")

		switch {
		case !closed:
			return "", fmt.Errorf("the variable ${%s is not closed with }", name)
		case openEscape.MatchString(before):
			return "", fmt.Errorf("the variable ${%s} would complete the %% before it: write %%25 for a %%", name)
		}

		v, err := value(name)
		if err != nil {
			return "", err
		}

		if v, err = escape(v); err != nil {
			return "", fmt.Errorf("the variable ${%s}: %w", name, err)
		}

		out.WriteString(v)

		text = after
	}
}

func verbatim(text string) (string, error) { return text, nil }

// escapePath escapes the characters that a path may not have: with one of them, package url would write the whole path again and take a slash
// in a value for one of the path.
func escapePath(text string) (string, error) {
	var out strings.Builder

	for _, b := range []byte(text) {
		if strings.IndexByte(" \"<>\\^`{|}", b) >= 0 || b >= 0x80 {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}

	return out.String(), nil
}

// ofHost returns a value that is a part of the name of a host.
func ofHost(value string) (string, error) {
	i := strings.IndexFunc(value, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '.')
	})
	if i >= 0 {
		return "", fmt.Errorf("the value %q cannot be a part of the name of a server", value)
	}

	return value, nil
}
