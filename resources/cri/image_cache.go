// SPDX-License-Identifier: Apache-2.0

package cri

import (
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/enum"
)

var imageCacheConfigDefinition = domain.Type("ImageCacheConfigs", "Status={.status}", "Copy status={.copyStatus}")

// ImageCacheConfigSpec is the state of the image cache.
type ImageCacheConfigSpec struct {
	Status ImageCacheStatus `yaml:"status" protobuf:"1"`
	// Roots are the folders with the images.
	Roots      []string             `yaml:"roots" protobuf:"2"`
	CopyStatus ImageCacheCopyStatus `yaml:"copyStatus" protobuf:"3"`
}

// Definition implements resource.Spec.
func (ImageCacheConfigSpec) Definition() *resource.Definition { return imageCacheConfigDefinition }

// ImageCacheStatus is whether images come from the image cache.
type ImageCacheStatus uint8

// The states of the image cache.
const (
	ImageCacheUnknown ImageCacheStatus = iota
	// ImageCacheDisabled: the configuration does not want it, or the machine has none.
	ImageCacheDisabled
	ImageCachePreparing
	ImageCacheReady
)

// ImageCacheCopyStatus is the progress of a copy of the image cache to the disk.
type ImageCacheCopyStatus uint8

// The states of the copy. The installed system has its cache on the disk: it is never copied.
const (
	ImageCacheCopyUnknown ImageCacheCopyStatus = iota
	ImageCacheCopySkipped
	ImageCacheCopyPending
	ImageCacheCopyReady
)

var (
	imageCacheStatuses     = enum.Of[ImageCacheStatus]("unknown", "disabled", "preparing", "ready")
	imageCacheCopyStatuses = enum.Of[ImageCacheCopyStatus]("unknown", "skipped", "pending", "ready")
)

func (s ImageCacheStatus) String() string { return imageCacheStatuses.Text(s) }

// MarshalText implements encoding.TextMarshaler.
func (s ImageCacheStatus) MarshalText() ([]byte, error) { return imageCacheStatuses.Marshal(s) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ImageCacheStatus) UnmarshalText(text []byte) error {
	return imageCacheStatuses.Parse("status of the image cache", text, s)
}

func (s ImageCacheCopyStatus) String() string { return imageCacheCopyStatuses.Text(s) }

// MarshalText implements encoding.TextMarshaler.
func (s ImageCacheCopyStatus) MarshalText() ([]byte, error) { return imageCacheCopyStatuses.Marshal(s) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *ImageCacheCopyStatus) UnmarshalText(text []byte) error {
	return imageCacheCopyStatuses.Parse("status of the copy of the image cache", text, s)
}
