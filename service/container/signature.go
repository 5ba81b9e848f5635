// SPDX-License-Identifier: Apache-2.0

//go:build linux

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	digests "github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/seed-59268b81/talos/pki/cosign"
	"github.com/seed-59268b81/talos/service/imagerules"
)

func descriptorOf(s cosign.Signature) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: s.MediaType, Digest: digests.Digest(s.Digest), Size: s.Size}
}

// reasonsError joins errors to one line, each text once.
type reasonsError []error

func sentence(reasons []error) error { return reasonsError(reasons) }

// Error implements error.
func (r reasonsError) Error() string {
	var texts []string

	for _, err := range r {
		if !errors.Is(err, errNotSigned) && !slices.Contains(texts, err.Error()) {
			texts = append(texts, err.Error())
		}
	}

	return strings.Join(texts, "; ")
}

// Unwrap returns the errors, for errors.Is.
func (r reasonsError) Unwrap() []error { return r }

// maxIndex limits the index of the image cache, in bytes.
const maxIndex = 4 << 20

// inCache reports whether the image cache has an image by its name, with a digest unless that is empty. The image cache is on the machine's
// own disk, and was written with the system.
func inCache(dir, name, digest string) bool {
	path := filepath.Join(dir, "index.json")

	info, err := os.Stat(path)
	if err != nil || info.Size() > maxIndex {
		return false
	}

	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}

	var index struct {
		Manifests []ocispec.Descriptor `json:"manifests"`
	}

	if json.Unmarshal(text, &index) != nil {
		return false
	}

	return slices.ContainsFunc(index.Manifests, func(d ocispec.Descriptor) bool {
		same := d.Annotations[ocispec.AnnotationRefName] == name

		// By its digest the image cache has each of its images under any name.
		if pinned, ok := strings.CutPrefix(name, repository(name)+"@"); ok {
			same = d.Digest.String() == pinned && repositoryOf(d) == repository(name)
		}

		return same && (digest == "" || d.Digest.String() == digest)
	})
}

func repositoryOf(d ocispec.Descriptor) string {
	named, err := reference.ParseNormalizedNamed(d.Annotations[ocispec.AnnotationRefName])
	if err != nil {
		return ""
	}

	return reference.TrimNamed(named).Name()
}

// Verified returns an image that containerd has, if the rules of the configuration allow its use. Its signatures may be beside it in containerd, by
// the name that they have in a registry, as after the import of an archive with both; otherwise a registry is asked.
func (i *Images) Verified(ctx context.Context, ref string) (Target, error) {
	target, err := i.Target(ctx, ref)
	if err == nil {
		err = i.allowed(ctx, target.Name, target.Digest)
	}

	return target, err
}

// allowed returns an error unless the rules of the configuration allow the use of an image that containerd has.
func (i *Images) allowed(ctx context.Context, name, digest string) error {
	rules, err := i.access.rules()
	if err != nil || len(rules) == 0 {
		return err
	}

	complete, err := Reference(name)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}

	// A rule may be about this very digest.
	if named := digestOf(complete); named != "" && named != digest {
		return fmt.Errorf("%w: %s: the image has another digest than its name: %s", ErrRefused, complete, digest)
	}

	decision, err := rules.Of(complete)
	if err != nil {
		return err
	}

	switch {
	case decision.Action == imagerules.Unruled, decision.Action == imagerules.Allow, inCache(i.access.complete().Cache, complete, digest):
		return nil
	case decision.Action == imagerules.Refuse:
		return denied(complete, decision)
	}

	local := i.signedLocally(ctx, complete, digest, decision)
	if local == nil {
		return nil
	}

	remote := i.access.signedRemotely(ctx, complete, digest, decision)
	if remote == nil || errors.Is(remote, ErrRefused) {
		return remote
	}

	return fmt.Errorf("%w; and %w", local, remote)
}

// digestOf returns the digest in a complete name, or nothing.
func digestOf(name string) string {
	_, digest, _ := strings.Cut(name, "@")

	return digest
}

// signedLocally returns an error unless containerd has a signature of the image by the rule's key.
func (i *Images) signedLocally(ctx context.Context, name, digest string, d imagerules.Decision) error {
	ctx = i.context(ctx)

	tag, err := cosign.Tag(digest)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, name, err)
	}

	ref := repository(name) + ":" + tag

	image, err := i.client.ImageService().Get(ctx, ref)
	if errdefs.IsNotFound(err) {
		return unsigned(name, digest, ref, d)
	}

	if err != nil {
		return fmt.Errorf("read the signatures of the image, %s: %w", ref, err)
	}

	err = signed(digest, image.Target, d, func(desc ocispec.Descriptor, limit int64) ([]byte, error) { return i.blob(ctx, desc, limit) })

	return explainSignature(name, digest, ref, d, err)
}

// holdsSignatures reports whether an image is one of signatures of another image, by its name and by its content. Such an image cannot run: it is
// neither judged nor unpacked.
func (i *Images) holdsSignatures(ctx context.Context, image images.Image) bool {
	named, err := reference.ParseNormalizedNamed(image.Name)
	if err != nil {
		return false
	}

	tagged, ok := named.(reference.Tagged)
	if !ok || !cosign.IsTag(tagged.Tag()) || !images.IsManifestType(image.Target.MediaType) {
		return false
	}

	manifest, err := i.blob(ctx, image.Target, cosign.MaxManifest)

	return err == nil && cosign.HoldsSignatures(manifest)
}

// blob returns content that containerd has, of limit bytes or less.
func (i *Images) blob(ctx context.Context, desc ocispec.Descriptor, limit int64) ([]byte, error) {
	blob, err := i.client.ContentStore().ReaderAt(ctx, desc)
	if err != nil {
		return nil, err
	}
	defer blob.Close()

	if blob.Size() > limit {
		return nil, fmt.Errorf("%s: has %d bytes, more than %d", desc.Digest, blob.Size(), limit)
	}

	return io.ReadAll(content.NewReader(blob))
}
