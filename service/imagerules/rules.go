// SPDX-License-Identifier: Apache-2.0

// Package imagerules has the rules by which images may be pulled: the first one whose pattern matches an image decides. A controller writes them
// to a file of the running system, and each pull reads them there. An image that no rule matches may be pulled.
package imagerules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/seed-59268b81/talos/pki/cosign"
)

// Rule says what is asked of the images whose names match a pattern: exactly one of Skip, Deny and PublicKey is set.
type Rule struct {
	// Image is the pattern. See Matches.
	Image string `json:"image"`
	// Skip allows the images without a signature, and Deny refuses them.
	Skip bool `json:"skip,omitempty"`
	Deny bool `json:"deny,omitempty"`
	// PublicKey is the key that must have signed the images, in PEM.
	PublicKey string `json:"publicKey,omitempty"`
}

// Rules are rules in their order.
type Rules []Rule

// Action is what a rule asks for.
type Action uint8

// What the rules ask for.
const (
	// Unruled images match no rule, and may be pulled.
	Unruled Action = iota
	Allow
	Refuse
	// Verify wants a signature by the key.
	Verify
)

// Decision is what the rules say about an image.
type Decision struct {
	Action Action
	// Rule is the index of the rule that decides, and Pattern its pattern; without meaning for Unruled.
	Rule    int
	Pattern string
	// Key is set for Verify.
	Key cosign.Key
}

// String names the rule for an error.
func (d Decision) String() string {
	return fmt.Sprintf("rules[%d] of ImageVerificationConfig (image: %s)", d.Rule, d.Pattern)
}

// Of returns what the rules say about an image, by its complete name. A rule that cannot be understood is an error: what it asks for is not
// known.
func (r Rules) Of(image string) (Decision, error) {
	for i, rule := range r {
		if !Matches(rule.Image, image) {
			continue
		}

		d := Decision{Rule: i, Pattern: rule.Image}

		switch {
		case rule.Deny:
			d.Action = Refuse
		case rule.PublicKey != "":
			key, err := cosign.ParseKey([]byte(rule.PublicKey))
			if err != nil {
				return Decision{}, fmt.Errorf("%v: %w", d, err)
			}

			d.Action, d.Key = Verify, key
		case rule.Skip:
			d.Action = Allow
		default:
			return Decision{}, fmt.Errorf("%v: it says nothing that this version knows", d)
		}

		return d, nil
	}

	return Decision{}, nil
}

// Read reads the rules of a file. There are none without it.
func Read(path string) (Rules, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}

	if err != nil {
		return nil, fmt.Errorf("read the rules of images: %w", err)
	}

	var r Rules
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read the rules of images: %s: %w", path, err)
	}

	return r, nil
}

// Text returns the content of the file.
func (r Rules) Text() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("rules of images: %w", err)
	}

	return text, nil
}
