// SPDX-License-Identifier: Apache-2.0

//go:build linux

package house

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/seed-59268b81/talos/api/wire"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
	"github.com/seed-59268b81/talos/machine"
)

// definitions are the messages of the resource definitions, by their full names.
func definitions(t *testing.T) map[string]protoreflect.MessageDescriptor {
	t.Helper()

	compiled, err := wire.Compile(context.Background(), os.DirFS(filepath.Join(root, "api")))
	if err != nil {
		t.Fatal(err)
	}

	all := map[string]protoreflect.MessageDescriptor{}

	for _, file := range compiled {
		for i := range file.Messages().Len() {
			all[string(file.Messages().Get(i).FullName())] = file.Messages().Get(i)
		}
	}

	return all
}

// TestResourcesKeepTheirContract compares the spec of each resource type, field by field, with the message of clients: numbers,
// names and kinds must be the same, and neither may have more fields.
func TestResourcesKeepTheirContract(t *testing.T) {
	if err := machine.RegisterTypes(); err != nil {
		t.Fatal(err)
	}

	messages := definitions(t)
	compared, missing := 0, map[string]bool{}

	for _, def := range resource.RegisteredTypes() {
		if strings.HasSuffix(def.Type, ".meta.cosi.dev") {
			continue // package cosi tests its own contract
		}

		r, ok := resource.NewOfType(def.Type, "", "x")
		if !ok {
			t.Fatalf("%s is registered, but unknown", def.Type)
		}

		spec := reflect.TypeOf(r.Spec()).Elem()

		name := "talos.resource.definitions." + domain(spec) + "." + spec.Name()

		message, ok := messages[name]
		if ok == own[def.Type] {
			t.Errorf("%s: message %s in the definitions: got %t, want %t", def.Type, name, ok, !ok)
		}

		if !ok {
			continue
		}

		c := contract{seen: map[reflect.Type]bool{}, missing: missing}
		c.message(spec.Name(), spec, message)

		for _, d := range c.differences {
			t.Errorf("%s: %s", def.Type, d)
		}

		compared++
	}

	for f := range missing {
		if !later[f] {
			t.Errorf("no Go type has the field %s", f)
		}
	}

	for f := range later {
		if !missing[f] {
			t.Errorf("%s is no longer missing: remove it from the list", f)
		}
	}

	if compared < 60 {
		t.Errorf("compared only %d types", compared)
	}
}

// domain returns the protobuf package of a Go type: the name of its folder, or the API group for services.
func domain(t reflect.Type) string {
	name := path.Base(t.PkgPath())
	if name == "service" {
		return "v1alpha1"
	}

	return name
}

// contract collects the differences between a Go type and a message.
type contract struct {
	differences []string
	missing     map[string]bool // fields that the Go types do not have
	seen        map[reflect.Type]bool
}

func (c *contract) differ(format string, args ...any) {
	c.differences = append(c.differences, fmt.Sprintf(format, args...))
}

func (c *contract) message(where string, t reflect.Type, m protoreflect.MessageDescriptor) {
	if c.seen[t] {
		return
	}

	c.seen[t] = true

	// Types with their own encoding, and standard ones such as addresses, are tested elsewhere.
	if ownForm(t) || t.Kind() != reflect.Struct {
		return
	}

	numbers := map[protoreflect.FieldNumber]bool{}
	c.fields(where, t, m, numbers)

	for i := range m.Fields().Len() {
		if f := m.Fields().Get(i); !numbers[f.Number()] {
			c.missing[strings.TrimPrefix(string(f.FullName()), "talos.resource.definitions.")] = true
		}
	}
}

func (c *contract) fields(where string, t reflect.Type, m protoreflect.MessageDescriptor, numbers map[protoreflect.FieldNumber]bool) {
	for i := range t.NumField() {
		field := t.Field(i)
		at := where + "." + field.Name

		tag, tagged := field.Tag.Lookup("protobuf")
		if !tagged {
			if field.Anonymous && field.Type.Kind() == reflect.Struct {
				c.fields(where, field.Type, m, numbers)
			}

			continue
		}

		n, err := strconv.Atoi(tag)
		if err != nil {
			c.differ("%s: tag %q is not a number", at, tag)

			continue
		}

		number := protoreflect.FieldNumber(n)
		numbers[number] = true

		f := m.Fields().ByNumber(number)
		if f == nil {
			c.differ("%s = %d is not in %s", at, n, m.FullName())

			continue
		}

		if on := squash(string(f.Name())); on != squash(field.Name) && on != renamed[field.Name] {
			c.differ("%s = %d is %s on the wire", at, n, f.FullName())
		}

		c.value(at, field.Type, f)
	}
}

// value compares the kind of a field, and the contents of a list, map or message.
func (c *contract) value(at string, t reflect.Type, f protoreflect.FieldDescriptor) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	switch {
	case f.IsMap():
		if t.Kind() != reflect.Map {
			c.differ("%s is a %s, on the wire a map", at, t)

			return
		}

		c.single(at+"'s key", t.Key(), f.MapKey())
		c.single(at+"'s value", t.Elem(), f.MapValue())
	case f.IsList():
		if t.Kind() != reflect.Slice {
			c.differ("%s is a %s, on the wire a list", at, t)

			return
		}

		c.single(at, t.Elem(), f)
	default:
		c.single(at, t, f)
	}
}

func (c *contract) single(at string, t reflect.Type, f protoreflect.FieldDescriptor) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}

	if f.Kind() == protoreflect.MessageKind {
		if !isMessage(t) {
			c.differ("%s is a %s, on the wire the message %s", at, t, f.Message().FullName())

			return
		}

		c.message(at, t, f.Message())

		return
	}

	if want := kinds(t); !strings.Contains(want, " "+f.Kind().String()+" ") {
		c.differ("%s is a %s, on the wire a %s", at, t, f.Kind())
	}
}

// isMessage reports whether a type is a message on the wire.
func isMessage(t reflect.Type) bool {
	switch t.Kind() { // the rest are scalars
	case reflect.Struct, reflect.Map, reflect.Interface:
		return true
	default:
		return ownForm(t) || t.String() == "time.Duration"
	}
}

// ownForm reports whether a type has its own encoding, or a standard one.
func ownForm(t reflect.Type) bool {
	p := reflect.PointerTo(t)

	return p.Implements(reflect.TypeFor[protoenc.Marshaler]()) || !strings.HasPrefix(t.PkgPath(), module) && t.Kind() == reflect.Struct
}

// kinds returns the scalar kinds that match the encoding of a Go type.
func kinds(t reflect.Type) string {
	switch t.Kind() { // the rest are not scalars
	case reflect.Bool:
		return " bool "
	case reflect.String:
		return " string bytes " // the same encoding
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return " int32 int64 enum "
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return " uint32 uint64 enum "
	case reflect.Float32:
		return " float "
	case reflect.Float64:
		return " double "
	case reflect.Slice, reflect.Array:
		return " bytes "
	default:
		return ""
	}
}

// squash reduces the Go and the protobuf spelling of a name to the same form.
func squash(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// renamed maps Go names of renamed fields.
var renamed = map[string]string{"Layer": "configlayer"}

// own are resource types without a message in the definitions: those of this system only, those with their own encoding,
// and those that clients never decode as a message.
var own = map[string]bool{
	"DiscoverySources.cluster.talos.dev":           true,
	"DiscoverydSecrets.secrets.talos.dev":          true,
	"EtcdClaims.cluster.talos.dev":                 true,
	"AcquireConfigSpecs.v1alpha1.talos.dev":        true,
	"AcquireConfigStatuses.v1alpha1.talos.dev":     true,
	"ConfigFailures.config.talos.dev":              true,
	"BootstrapRequests.etcd.talos.dev":             true,
	"ClusterLocks.clusterstate.talos.dev":          true,
	"EtcdLeaveRequests.etcd.talos.dev":             true,
	"EtcdMembershipStatuses.etcd.talos.dev":        true,
	"EtcdMemberStatuses.etcd.talos.dev":            true,
	"DNSUpstreams.net.talos.dev":                   true,
	"HardeningConditions.runtime.talos.dev":        true,
	"KernelParamDefaultSpecs.runtime.talos.dev":    true,
	"KubeletServingRequests.kubernetes.talos.dev":  true,
	"KubeletServingStatuses.kubernetes.talos.dev":  true,
	"Lifecycles.runtime.talos.dev":                 true,
	"MachineConfigs.config.talos.dev":              true,
	"MachineTypes.config.talos.dev":                true,
	"MachineResetSignals.runtime.talos.dev":        true,
	"MaintenanceServiceRequests.runtime.talos.dev": true,
	"NodeCordonedSpecs.k8s.talos.dev":              true,
	"NodeIdentities.kubernetes.talos.dev":          true,
	"Boots.runtime.talos.dev":                      true,
	"PlatformConditions.runtime.talos.dev":         true,
	"PowerRequests.runtime.talos.dev":              true,
	"SettingConditions.runtime.talos.dev":          true,
	"SpecConditions.net.talos.dev":                 true,
	"Trials.runtime.talos.dev":                     true,
	"VolumeLifecycles.block.talos.dev":             true,
}

// later are fields of features that this version does not have. Clients see them empty.
var later = map[string]bool{
	"block.FilesystemSpec.min_allocation_group_size":        true,
	"block.MountRequestSpec.detached":                       true,
	"block.MountRequestSpec.disable_access_time":            true,
	"block.MountRequestSpec.no_exec":                        true,
	"block.MountRequestSpec.parent_mount_id":                true,
	"block.MountRequestSpec.secure":                         true,
	"block.MountSpec.project_quota_support":                 true,
	"block.MountSpec.recursive_relabel":                     true,
	"block.MountStatusSpec.project_quota_support":           true,
	"block.PartitionSpec.negative_max_size":                 true,
	"block.PartitionSpec.relative_max_size":                 true,
	"block.ProvisioningSpec.disk_selector":                  true,
	"block.VolumeConfigSpec.encryption":                     true,
	"block.VolumeConfigSpec.locator":                        true,
	"block.VolumeConfigSpec.scrub_enabled":                  true,
	"block.VolumeConfigSpec.scrub_interval":                 true,
	"block.VolumeConfigSpec.symlink":                        true,
	"block.VolumeConfigSpec.trim_enabled":                   true,
	"block.VolumeConfigSpec.trim_interval":                  true,
	"block.VolumeStatusSpec.configured_encryption_keys":     true,
	"block.VolumeStatusSpec.encryption_allow_discards":      true,
	"block.VolumeStatusSpec.encryption_failed_syncs":        true,
	"block.VolumeStatusSpec.encryption_locked_to_state":     true,
	"block.VolumeStatusSpec.encryption_slot":                true,
	"block.VolumeStatusSpec.scrub_enabled":                  true,
	"block.VolumeStatusSpec.scrub_interval":                 true,
	"block.VolumeStatusSpec.symlink_spec":                   true,
	"block.VolumeStatusSpec.tpm_encryption_options":         true,
	"block.VolumeStatusSpec.trim_enabled":                   true,
	"block.VolumeStatusSpec.trim_interval":                  true,
	"runtime.SecurityStateSpec.fips_state":                  true,
	"runtime.SecurityStateSpec.pcr_signing_key_fingerprint": true,
	"runtime.SecurityStateSpec.se_linux_state":              true,
	"runtime.SecurityStateSpec.uki_signing_key_fingerprint": true,
}
