// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/transfer"
	"github.com/distribution/reference"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seed-59268b81/talos/pki/cosign"
	"github.com/seed-59268b81/talos/service/imagerules"
)

// ErrRefused is the error of an image that may not be used by the rules of the configuration.
var ErrRefused = errors.New("the image is refused")

// Verdict is why an image may be used.
type Verdict struct {
	// Name is the complete name. Digest is that of the image, or empty where no rule asks for it.
	Name, Digest string
	// Verified is set if the image has a signature by the key of its rule. Other images may be used without one.
	Verified bool
	Why      string
}

// Pinned returns the name of the image by its digest.
func (v Verdict) Pinned() string { return pinned(v.Name, v.Digest) }

func pinned(name, digest string) string {
	if digest == "" || strings.Contains(name, "@") {
		return name
	}

	return repository(name) + "@" + digest
}

// repository returns a complete name without tag and digest.
func repository(name string) string {
	named, err := reference.ParseNormalizedNamed(name)
	if err != nil {
		return name
	}

	return reference.TrimNamed(named).Name()
}

// Ruled returns what the rules of the configuration say about an image, and its complete name. No registry is asked.
func (a Access) Ruled(ref string) (string, imagerules.Decision, error) {
	name, err := Reference(ref)
	if err != nil {
		return "", imagerules.Decision{}, err
	}

	rules, err := a.rules()
	if err != nil {
		return "", imagerules.Decision{}, err
	}

	d, err := rules.Of(name)

	return name, d, err
}

// Decided returns the verdict on an image for which the rules of the configuration ask no signature, without a digest that the name does not have.
// It reports false for the other images, which Verify judges. No registry is asked.
func (a Access) Decided(ref string) (Verdict, bool, error) {
	name, decision, err := a.Ruled(ref)
	if err != nil {
		return Verdict{}, false, err
	}

	switch decision.Action {
	case imagerules.Unruled, imagerules.Allow:
		return Verdict{Name: name, Why: unasked(decision)}, true, nil
	default:
		return Verdict{}, false, nil
	}
}

// unasked says why the rules ask no signature of an image.
func unasked(d imagerules.Decision) string {
	if d.Action == imagerules.Unruled {
		return "no rule of ImageVerificationConfig matches: it may be pulled"
	}

	return fmt.Sprintf("%v asks for no signature", d)
}

// Verify returns why an image may be pulled by the rules of the configuration, or an error, which is ErrRefused if it may not. A login counts
// instead of the machine's own.
func (a Access) Verify(ctx context.Context, ref string, login *Login) (Verdict, error) {
	a.login = login

	name, err := Reference(ref)
	if err != nil {
		return Verdict{}, err
	}

	rules, err := a.rules()
	if err != nil {
		return Verdict{}, fmt.Errorf("verify %s: %w", name, err)
	}

	resolver, tried, err := a.unruled(ctx)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify %s: %w", name, err)
	}

	_, _, verdict, err := (&ruledResolver{resolver, rules, a}).judge(ctx, name)
	if err != nil {
		return Verdict{}, fmt.Errorf("verify %s: %w", name, tried.Explain(err))
	}

	return verdict, nil
}

// ruledResolver refuses the images that the rules refuse. It finds the digest and judges that, and containerd downloads what has the digest.
type ruledResolver struct {
	remotes.Resolver

	rules  imagerules.Rules
	access Access
}

// Resolve implements remotes.Resolver.
func (r *ruledResolver) Resolve(ctx context.Context, ref string) (string, ocispec.Descriptor, error) {
	name, desc, _, err := r.judge(ctx, ref)

	return name, desc, err
}

// SetOptions implements remotes.ResolverWithOptions.
func (r *ruledResolver) SetOptions(options ...transfer.ImageResolverOption) {
	if with, ok := r.Resolver.(remotes.ResolverWithOptions); ok {
		with.SetOptions(options...)
	}
}

func (r *ruledResolver) judge(ctx context.Context, ref string) (string, ocispec.Descriptor, Verdict, error) {
	fail := func(err error) (string, ocispec.Descriptor, Verdict, error) {
		return "", ocispec.Descriptor{}, Verdict{}, err
	}

	complete, err := Reference(ref)
	if err != nil {
		return fail(err)
	}

	decision, err := r.rules.Of(complete)
	if err != nil {
		return fail(err)
	}

	// An image that is refused by its name is not asked for.
	if decision.Action == imagerules.Refuse && !inCache(r.access.complete().Cache, complete, "") {
		return fail(denied(complete, decision))
	}

	name, desc, err := r.Resolver.Resolve(ctx, ref)
	if err != nil {
		return fail(err)
	}

	verdict := Verdict{Name: complete, Digest: desc.Digest.String()}

	switch {
	case decision.Action == imagerules.Unruled, decision.Action == imagerules.Allow:
		verdict.Why = unasked(decision)
	case inCache(r.access.complete().Cache, complete, verdict.Digest):
		verdict.Why = "it is of the machine's own image cache, which is a part of the system"
	case decision.Action == imagerules.Refuse:
		err = denied(complete, decision)
	default:
		verdict.Verified, verdict.Why = true, fmt.Sprintf("signed with the key of %v", decision)
		err = r.access.signedRemotely(ctx, complete, verdict.Digest, decision)
	}

	if err != nil {
		return fail(err)
	}

	return name, desc, verdict, nil
}

func denied(name string, d imagerules.Decision) error {
	return fmt.Errorf("%w: %s: %v denies it: use another image, or change the rule", ErrRefused, name, d)
}

// signatureTimeout bounds the search for signatures in a registry.
const signatureTimeout = time.Minute

// signedRemotely returns an error unless the registry has a signature of the image by the rule's key.
func (a Access) signedRemotely(ctx context.Context, name, digest string, d imagerules.Decision) error {
	ctx, cancel := context.WithTimeout(ctx, signatureTimeout)
	defer cancel()

	tag, err := cosign.Tag(digest)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, name, err)
	}

	// Its own attempts: what was tried for the image has another error.
	resolver, tried, err := a.unruled(ctx)
	if err != nil {
		return err
	}

	ref := repository(name) + ":" + tag

	named, desc, err := resolver.Resolve(ctx, ref)
	if err != nil && tried.onlyMissing() {
		return unsigned(name, digest, ref, d)
	}

	if err != nil {
		return fmt.Errorf("read the signatures of the image, %s: %w", ref, tried.Explain(err))
	}

	fetcher, err := resolver.Fetcher(ctx, named)
	if err != nil {
		return fmt.Errorf("read the signatures of the image, %s: %w", ref, err)
	}

	err = signed(digest, desc, d, func(desc ocispec.Descriptor, limit int64) ([]byte, error) {
		content, err := fetcher.Fetch(ctx, desc)
		if err != nil {
			return nil, tried.Explain(err)
		}
		defer content.Close()

		return io.ReadAll(io.LimitReader(content, limit+1))
	})

	return explainSignature(name, digest, ref, d, err)
}

func unsigned(name, digest, ref string, d imagerules.Decision) error {
	return fmt.Errorf("%w: %s (%s): it is not signed, which %v asks for: there is no %s", ErrRefused, name, digest, d, ref)
}

// explainSignature says which image and which rule an error of signed is about.
func explainSignature(name, digest, ref string, d imagerules.Decision, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNotSigned):
		return fmt.Errorf("%w: %s (%s): no signature is by the key of %v: %w", ErrRefused, name, digest, d, err)
	default:
		return fmt.Errorf("read the signatures of the image, %s: %w", ref, err)
	}
}

// errNotSigned is the error of an image whose signatures are all of other keys or images.
var errNotSigned = errors.New("not signed")

// signed returns an error unless one of the signatures that a manifest has is by the rule's key, for the digest. read reads a blob, of which the
// digest is compared here.
func signed(digest string, manifest ocispec.Descriptor, d imagerules.Decision, read func(ocispec.Descriptor, int64) ([]byte, error)) error {
	get := func(desc ocispec.Descriptor, limit int64) ([]byte, error) {
		if err := desc.Digest.Validate(); err != nil {
			return nil, err
		}

		text, err := read(desc, limit)
		if err != nil {
			return nil, err
		}

		if int64(len(text)) > limit || desc.Digest.Algorithm().FromBytes(text) != desc.Digest {
			return nil, fmt.Errorf("%s: the registry has sent another content than the one with this digest", desc.Digest)
		}

		return text, nil
	}

	text, err := get(manifest, cosign.MaxManifest)
	if err != nil {
		return err
	}

	all, err := cosign.Signatures(text)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSigned, err)
	}

	reasons := []error{errNotSigned}

	for _, s := range all {
		payload, err := get(descriptorOf(s), cosign.MaxPayload)
		if err == nil {
			err = s.Check(d.Key, payload, digest)
		}

		if err == nil {
			return nil
		}

		reasons = append(reasons, err)
	}

	if len(all) == 0 {
		reasons = append(reasons, errors.New("there are none in the format of cosign"))
	}

	return sentence(reasons)
}
