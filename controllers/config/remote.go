// SPDX-License-Identifier: Apache-2.0

//go:build linux

package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/seed-59268b81/talos/config"
	"github.com/seed-59268b81/talos/cosi/guard"
	"github.com/seed-59268b81/talos/sys/cmdline"
	"github.com/seed-59268b81/talos/sys/meta"
	"github.com/seed-59268b81/talos/sys/platform"
	"github.com/seed-59268b81/talos/sys/platform/cloud"
)

// metalISO is the value of talos.config for the file system with this label, and the file on it with the configuration.
const (
	metalISO     = "metal-iso"
	metalISOFile = "volume://" + metalISO + "/config.yaml"
)

// remote is the source of the platform. It is asked until it answers, since it needs devices or the network.
type remote struct {
	name string
	// ask returns nil if there is no configuration.
	ask func(ctx context.Context, log *slog.Logger) ([]byte, error)
	// notice is what a person should know before the platform is asked, if anything.
	notice string
	// login is how the machine authenticates; nil if it does not.
	login *login
	// answered is called after the platform has answered; nil for nothing.
	answered func(ctx context.Context) error
}

// remoteOf returns the source of the platform, or nil if it has none.
func remoteOf(args cmdline.Cmdline, p platform.Platform, fetch cloud.Fetch, value func(string) (string, error)) *remote {
	if c, ok := cloud.Find(p.Cloud, p.Hardware); ok {
		r := &remote{
			name:     "platform " + c.Name(),
			ask:      func(ctx context.Context, _ *slog.Logger) ([]byte, error) { return c.Configuration(ctx, fetch) },
			answered: func(ctx context.Context) error { return c.Report(ctx, fetch) },
		}

		if _, ok := args.Get(cmdline.Config); ok {
			r.notice = "the kernel argument " + cmdline.Config + " is not used: the configuration is the user data of the platform"
		}

		return r
	}

	place, ok := args.Get(cmdline.Config)
	if !ok || place == "" || place == "none" || !p.Owns(platform.KernelArguments) {
		return nil
	}

	r := &remote{name: "kernel argument " + cmdline.Config, login: loginOf(args)}

	r.ask = func(ctx context.Context, log *slog.Logger) ([]byte, error) {
		if place == metalISO {
			text, err := fetch(ctx, cloud.Request{URL: metalISOFile})
			if errors.Is(err, cloud.ErrNotFound) {
				err = fmt.Errorf("no file system with the label %s has a file config.yaml", metalISO)
			}

			return text, err
		}

		address, err := expand(place, value)
		if err != nil {
			return nil, err
		}

		request := cloud.Request{URL: address, Proxied: true}

		if r.login != nil {
			if request.Header, err = r.login.headers(ctx, address, value, log); err != nil {
				return nil, err
			}
		}

		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()

		text, err := fetch(ctx, request)
		if err != nil && r.login != nil {
			r.login.refused(err)
		}

		return text, err // without the address, which may have a secret
	}

	return r
}

// Attempts follow each other quickly at first: the network comes up within seconds.
const (
	quickAttempts = 60
	// patientAttempts are those whose error is not reported as a failure: the network takes a while to come up.
	patientAttempts = 30

	quickPause     = time.Second
	slowPause      = 5 * time.Second
	attemptTimeout = time.Minute
)

// find asks until the platform answers. It returns the answer, which decodes, or nil for none. A change of the network, of which hurry tells,
// ends an attempt that has no answer yet, and the pause: the kernel and name servers are asked at growing intervals, and what could not be
// reached before would be noticed late.
func (r *remote) find(ctx context.Context, hurry <-chan struct{}, failed func(error), log *slog.Logger) []byte {
	said, told := "", ""

	if r.notice != "" {
		log.Warn(r.notice, "platform", r.name)
	}

	for attempt, hurried := 0, 0; ; attempt++ {
		text, changed, err := r.attempt(ctx, hurry, hurried, log)

		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			if text == nil {
				log.Info("the platform has no machine configuration (user data for cloud-init is none)", "platform", r.name)
			}

			return text
		}

		err = fmt.Errorf("configuration of %s: %w", r.name, err)

		if !changed && err.Error() != said {
			said = err.Error()
			log.Warn("no configuration yet: trying again until there is one", "error", err)
		}

		if attempt >= patientAttempts && !changed && said != told {
			told = said
			failed(err)
		}

		pause := quickPause

		switch {
		case changed:
			hurried++
			attempt-- // it is not counted
			pause = hurriedPause
		case attempt >= quickAttempts:
			pause = slowPause
		}

		select {
		case <-ctx.Done():
			return nil
		case <-hurry:
		case <-time.After(pause):
		}
	}
}

// report tells the platform that it has answered.
func (r *remote) report(ctx context.Context, log *slog.Logger) {
	if r.answered == nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()

	if err := r.answered(ctx); err != nil {
		log.Error("the platform does not know that the machine has started", "error", err)
	}
}

func (r *remote) once(ctx context.Context, log *slog.Logger) ([]byte, error) {
	if r.login == nil { // a login takes as long as a person needs
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
	}

	text, err := r.ask(ctx, log)
	if err != nil {
		return nil, err
	}

	if text, err = decompress(text); err != nil || len(strings.TrimSpace(string(text))) == 0 {
		return nil, err
	}

	if _, err := config.Decode(text); err != nil {
		return nil, err
	}

	return text, nil
}

// asking is the search on the platform.
type asking struct {
	answers chan []byte
	again   chan struct{}
	cancel  context.CancelFunc
	ended   <-chan error
}

// hurry requests an attempt at once. Several requests before the next attempt are one.
func (a *asking) hurry() {
	select {
	case a.again <- struct{}{}:
	default:
	}
}

// start starts the search, unless it runs.
func (a *asking) start(ctx context.Context, r *remote, failed func(error), log *slog.Logger) {
	if a.ended != nil {
		return
	}

	ctx, a.cancel = context.WithCancel(ctx)
	answers, again := make(chan []byte, 1), make(chan struct{}, 1)
	a.answers, a.again = answers, again

	a.ended = guard.Go(func() error {
		text := r.find(ctx, again, failed, log)
		if ctx.Err() == nil {
			answers <- text
			r.report(ctx, log)
		}

		return nil
	})
}

// stop ends the search and waits for its end.
func (a *asking) stop() {
	if a.cancel != nil {
		a.cancel()
	}

	if a.ended != nil {
		<-a.ended
	}

	*a = asking{}
}

// observed are values for the URL that other controllers know.
type observed struct {
	mu            sync.Mutex
	mac, hostname string
}

func (o *observed) set(mac, hostname string) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.mac, o.hostname = mac, hostname
}

// values returns the function that looks up a variable of the URL. hw are the firmware's values.
func (o *observed) values(hw platform.Hardware, m Meta) func(string) (string, error) {
	return func(name string) (string, error) {
		o.mu.Lock()
		mac, hostname := o.mac, o.hostname
		o.mu.Unlock()

		var value, lacking string

		switch name {
		case variableUUID:
			override, err := fromMeta(m, meta.UUIDOverride)
			if err != nil {
				return "", err
			}

			value, lacking = hw.UUID, "the firmware has no UUID"
			if override != "" {
				value = override
			}
		case variableSerial:
			value, lacking = hw.Serial, "the firmware has no serial number"
		case variableMAC:
			value, lacking = mac, "the machine has no network card yet"
		case variableHostname:
			value, lacking = hostname, "the machine has no hostname yet"
		case variableCode:
			var err error
			if value, err = fromMeta(m, meta.DownloadURLCode); err != nil {
				return "", err
			}

			lacking = fmt.Sprintf("META has no value %s", meta.DownloadURLCode)
		default:
			return "", fmt.Errorf("unknown variable ${%s}: want one of ${%s}", name, strings.Join(variables, "}, ${"))
		}

		if value == "" {
			return "", fmt.Errorf("variable ${%s}: %s", name, lacking)
		}

		return value, nil
	}
}

// fromMeta returns a value of META, or an empty text.
func fromMeta(m Meta, tag meta.Tag) (string, error) {
	value, err := m.Get(tag)

	return string(value), err
}
