// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Credentials are what the machine logs in to registries with, by their hosts. A controller writes them to layout.RegistryCredentials, and each
// pull reads them there: containerd's files of hosts have no credentials.
type Credentials map[string]Credential

// Credential is what the machine logs in to one registry with: a user and a password, a token, or user:password in base64.
type Credential struct {
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"`
	Auth          string `json:"auth,omitempty"`
	IdentityToken string `json:"identityToken,omitempty"`
}

// readCredentials reads a file of credentials. There are none without it.
func readCredentials(path string) (Credentials, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the credentials of registries: %w", err)
	}

	var c Credentials
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read the credentials of registries: %s: %w", path, err)
	}

	return c, nil
}

// of returns the user and the secret for a host, in containerd's form: a token has no user.
func (c Credentials) of(host string) (user, secret string, err error) {
	own := c[host]

	switch {
	case own.Username != "":
		return own.Username, own.Password, nil
	case own.IdentityToken != "":
		return "", own.IdentityToken, nil
	case own.Auth == "":
		return "", "", nil
	}

	decoded, err := base64.StdEncoding.DecodeString(own.Auth)
	user, secret, ok := strings.Cut(strings.TrimRight(string(decoded), "\x00"), ":")

	if err != nil || !ok {
		return "", "", fmt.Errorf("credentials of registry %s: auth is not USER:PASSWORD in base64", host)
	}

	return user, secret, nil
}
