// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"net/url"
	"strconv"
)

// URL is an absolute URL with a host.
type URL struct{ url.URL }

// ParseURL reads an absolute URL with a host.
func ParseURL(text string) (URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return URL{}, fmt.Errorf("not a URL: %w", err)
	}

	if u.Scheme == "" || u.Hostname() == "" {
		return URL{}, fmt.Errorf("%q is not a whole URL: want scheme://host[:port]", text)
	}

	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return URL{}, fmt.Errorf("%q is not a URL: port %q is not between 1 and 65535", text, port)
		}
	}

	return URL{*u}, nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (u *URL) UnmarshalText(text []byte) (err error) {
	if len(text) == 0 {
		*u = URL{}

		return nil
	}

	*u, err = ParseURL(string(text))

	return err
}

// MarshalText implements encoding.TextMarshaler.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// IsZero reports whether no URL is set.
func (u URL) IsZero() bool { return u.URL == url.URL{} }

// Format implements Formatted.
func (URL) Format() Format { return Format{About: "a URL", Example: "https://example.com/path"} }
