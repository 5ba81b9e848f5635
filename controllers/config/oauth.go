// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/oauth2"

	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/layout"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/outbound"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// login is how the machine authenticates to the server of its configuration: the device flow of OAuth 2.0 (RFC 8628). The machine shows an
// address and a code; a person opens the address, enters the code and permits the download.
type login struct {
	args   cmdline.Cmdline
	client *http.Client
	token  *oauth2.Token
}

const (
	// oauthTimeout bounds one request to the authorization server.
	oauthTimeout = 30 * time.Second
	// longestPoll bounds the pause between two requests for the token, which the authorization server chooses.
	longestPoll = 10 * time.Minute
	// longestCause bounds the text of an error, which may repeat an answer.
	longestCause = 500
)

// loginOf returns nil if the arguments request no authentication.
func loginOf(args cmdline.Cmdline) *login {
	if id, _ := args.Get(cmdline.ConfigOAuth + "client_id"); id == "" {
		return nil
	}

	return &login{args: args, client: &http.Client{Timeout: oauthTimeout, Transport: outbound.Transport{Bundle: layout.CABundle}}}
}

// headers returns the headers of a request to the server at an address. It waits until a person has permitted the download.
func (l *login) headers(ctx context.Context, address string, value func(string) (string, error), log *slog.Logger) (map[string]string, error) {
	if l.token.Valid() {
		return l.header(), nil
	}

	config, options, err := l.settings(address, value)
	if err != nil {
		return nil, err
	}

	ctx = context.WithValue(ctx, oauth2.HTTPClient, l.client)

	device, err := code(ctx, config, options)
	if err != nil {
		return nil, fmt.Errorf("ask the authorization server for a code: %w", plain(err))
	}

	log.Warn("the configuration needs a login: open the address on another computer, and enter the code", "address", device.VerificationURI,
		"code", device.UserCode)

	// The secret of a client is for the authorization server, which checks it with the code.
	if l.token, err = config.DeviceAccessToken(ctx, device); err != nil {
		return nil, fmt.Errorf("wait for the login: %w", plain(err))
	}

	return l.header(), nil
}

// code asks the authorization server for a code.
func code(ctx context.Context, config *oauth2.Config, options []oauth2.AuthCodeOption) (device *oauth2.DeviceAuthResponse, err error) {
	// The library panics if the answer is null.
	err = guard.Call(func() (err error) {
		device, err = config.DeviceAuth(ctx, options...)

		return err
	})

	if panicked := (*guard.Panic)(nil); errors.As(err, &panicked) {
		return nil, errors.New("the answer has none")
	}

	if err != nil {
		return nil, err
	}

	if device.DeviceCode == "" || device.UserCode == "" || device.VerificationURI == "" {
		return nil, errors.New("the answer has none, or no address")
	}

	// The library panics if the pause between two requests is negative; 0 is its default.
	device.Interval = min(max(device.Interval, 0), int64(longestPoll/time.Second))

	return device, nil
}

func (l *login) header() map[string]string {
	return map[string]string{"Authorization": "Bearer " + l.token.AccessToken}
}

// refused forgets a token that the server of the configuration does not accept.
func (l *login) refused(err error) {
	var status cloud.StatusError

	if errors.As(err, &status) && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		l.token = nil
	}
}

// settings returns what the arguments say. Without other addresses, the authorization server is that of the configuration.
func (l *login) settings(address string, value func(string) (string, error)) (*oauth2.Config, []oauth2.AuthCodeOption, error) {
	base, err := url.Parse(address)
	if err != nil {
		return nil, nil, errors.New("the address is not a URL")
	}

	get := func(name, absent string) string {
		if v, _ := l.args.Get(cmdline.ConfigOAuth + name); v != "" {
			return v
		}

		return absent
	}

	at := func(path string) string { return (&url.URL{Scheme: base.Scheme, Host: base.Host, Path: path}).String() }

	config := &oauth2.Config{
		ClientID: get("client_id", ""), ClientSecret: get("client_secret", ""), Scopes: l.args.All(cmdline.ConfigOAuth + "scope"),
		Endpoint: oauth2.Endpoint{DeviceAuthURL: get("device_auth_url", at("/device/code")), TokenURL: get("token_url", at("/token"))},
	}

	// With a secret, the library sends each request in two ways until it knows which one the server accepts. Without one there is one way.
	if config.ClientSecret == "" {
		config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	}

	var options []oauth2.AuthCodeOption

	if audience := get("audience", ""); audience != "" {
		options = append(options, oauth2.SetAuthURLParam("audience", audience))
	}

	for _, name := range l.args.All(cmdline.ConfigOAuth + "extra_variable") {
		v, err := value(name)
		if err != nil {
			return nil, nil, err
		}

		options = append(options, oauth2.SetAuthURLParam(name, v))
	}

	return config, options, nil
}

// plain returns the cause of an error without the address, which may be secret, and without what is too long to be shown.
func plain(err error) error {
	if failure := (*url.Error)(nil); errors.As(err, &failure) {
		err = failure.Err
	}

	if text := err.Error(); len(text) > longestCause {
		return errors.New(text[:longestCause] + "…")
	}

	return err
}
