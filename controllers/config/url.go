// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"fmt"
	"net/url"
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

// expand replaces the variables (${uuid}) in a URL. value returns that of one, with an error if it is not known yet.
func expand(text string, value func(name string) (string, error)) (string, error) {
	var out strings.Builder

	escape := url.PathEscape

	for rest := text; ; {
		before, after, found := strings.Cut(rest, "${")
		out.WriteString(before)

		if strings.Contains(before, "?") {
			escape = url.QueryEscape
		}

		if !found {
			break
		}

		name, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Errorf("the variable ${%s is not closed with }", name)
		}

		v, err := value(name)
		if err != nil {
			return "", err
		}

		out.WriteString(escape(v))
		rest = after
	}

	u, err := url.Parse(out.String())
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("want a URL with http:// or https://, or %s", metalISO)
	}

	return u.String(), nil
}
