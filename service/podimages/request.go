// SPDX-License-Identifier: Apache-2.0

package podimages

import (
	"errors"
	"fmt"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-59268b81/talos/service/container"
)

// Fields of CRI's messages (k8s.io/cri-api, runtime.v1). They are not decoded as a whole, so that what is not known here is passed on.
const (
	pullImage protowire.Number = 1 // PullImageRequest.image
	pullAuth  protowire.Number = 2 // PullImageRequest.auth
	specImage protowire.Number = 1 // ImageSpec.image

	authUsername      protowire.Number = 1 // AuthConfig
	authPassword      protowire.Number = 2
	authAuth          protowire.Number = 3
	authServer        protowire.Number = 4
	authIdentityToken protowire.Number = 5
)

var errRequest = errors.New("the request is not a PullImageRequest of CRI")

// pull is what is known of a PullImageRequest.
type pull struct {
	image string
	// login is nil without one.
	login *container.Login
}

// field is one field of a message.
type field struct {
	number protowire.Number
	kind   protowire.Type
	// raw is the whole field, and bytes its content if its kind is BytesType.
	raw, bytes []byte
}

// fields splits a message.
func fields(message []byte) (all []field, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, fmt.Errorf("%w: %w", errRequest, protowire.ParseError(n))
		}

		f := field{number: number, kind: kind, raw: message[:n]}

		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(message)
			f.bytes, _ = protowire.ConsumeBytes(message[tag:])
		}

		all, message = append(all, f), message[n:]
	}

	return all, nil
}

// parse reads a request. As in any protobuf message, the last of several values counts, and messages are merged.
func parse(request []byte) (pull, error) {
	all, err := fields(request)
	if err != nil {
		return pull{}, err
	}

	var p pull

	for _, f := range all {
		if f.kind != protowire.BytesType || f.number != pullImage && f.number != pullAuth {
			continue
		}

		inner, err := fields(f.bytes)
		if err != nil {
			return pull{}, err
		}

		for _, g := range inner {
			switch {
			case g.kind != protowire.BytesType:
			case f.number == pullAuth:
				p.authorize(g)
			case g.number == specImage:
				p.image = string(g.bytes)
			}
		}

		if f.number == pullAuth && p.login == nil {
			p.login = &container.Login{}
		}
	}

	if p.image == "" {
		return pull{}, fmt.Errorf("%w: it names no image", errRequest)
	}

	return p, nil
}

func (p *pull) authorize(f field) {
	if p.login == nil {
		p.login = &container.Login{}
	}

	text := string(f.bytes)

	switch f.number {
	case authUsername:
		p.login.Username = text
	case authPassword:
		p.login.Password = text
	case authAuth:
		p.login.Auth = text
	case authIdentityToken:
		p.login.IdentityToken = text
	case authServer:
		// A URL, or a host alone.
		p.login.Host = text
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			p.login.Host = u.Host
		}
	}
}

// withImage returns the request for another image.
func withImage(request []byte, image string) ([]byte, error) {
	all, err := fields(request)
	if err != nil {
		return nil, err
	}

	var out []byte

	for _, f := range all {
		if f.number != pullImage || f.kind != protowire.BytesType {
			out = append(out, f.raw...)

			continue
		}

		inner, err := fields(f.bytes)
		if err != nil {
			return nil, err
		}

		var spec []byte

		for _, g := range inner {
			if g.number != specImage {
				spec = append(spec, g.raw...)
			}
		}

		spec = protowire.AppendString(protowire.AppendTag(spec, specImage, protowire.BytesType), image)
		out = protowire.AppendBytes(protowire.AppendTag(out, pullImage, protowire.BytesType), spec)
	}

	return out, nil
}
