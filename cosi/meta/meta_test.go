// SPDX-License-Identifier: Apache-2.0

package meta

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/cosi/resource/protoenc"
)

func TestSingular(t *testing.T) {
	for plural, want := range map[string]string{
		"APIServerConfigs": "APIServerConfig", "AddressStatuses": "AddressStatus", "AdjtimeStatuses": "AdjtimeStatus",
		"Affiliates": "Affiliate", "BlockDevices": "BlockDevice", "BootedEntries": "BootedEntry", "CertSANs": "CertSAN",
		"CPUStats": "CPUStat", "DNSResolveCaches": "DNSResolveCache", "Diagnostics": "Diagnostic", "Disks": "Disk",
		"HardwareAddresses": "HardwareAddress", "Identities": "Identity", "ImageVerificationRules": "ImageVerificationRule",
		"Infos": "Info", "KubeSpanIdentities": "KubeSpanIdentity", "LinkAliasSpecs": "LinkAliasSpec", "LinkRefreshes": "LinkRefresh",
		"KubeletLifecycles": "KubeletLifecycle", "MachineResetSignals": "MachineResetSignal", "MemoryModules": "MemoryModule",
		"MountStatuses": "MountStatus", "Namespaces": "Namespace", "NodeIPs": "NodeIP", "OOMActions": "OOMAction",
		"PlatformMetadatas": "PlatformMetadata", "Processors": "Processor", "ResourceDefinitions": "ResourceDefinition",
		"SBOMItems": "SBOMItem", "SecurityStates": "SecurityState", "SystemInformations": "SystemInformation",
		"UniqueMachineTokens": "UniqueMachineToken", "ZswapStatuses": "ZswapStatus", "VolumeTrimSchedules": "VolumeTrimSchedule",
		"Aliases": "Alias", "Buses": "Bus", "Causes": "Cause", "Boxes": "Box", "Switches": "Switch", "Databases": "Database",
		"Leases": "Lease", "Licenses": "License", "Processes": "Process", "Sizes": "Size", "Heroes": "Hero", "Indices": "Index",
		"People": "Person", "Children": "Child", "Criteria": "Criterion", "TimeSeries": "TimeSeries", "Drives": "Drive", "Leaves": "Leaf",
	} {
		got, isPlural := singular(plural)
		if got != want || !isPlural {
			t.Errorf("%s: got %s, plural %t, want %s", plural, got, isPlural, want)
		}
	}

	for _, name := range []string{"Status", "Address", "Analysis", "Config", "Identity", "S"} {
		if got, isPlural := singular(name); isPlural {
			t.Errorf("%s: is the plural of %s, want no plural", name, got)
		}
	}
}

func TestResourceDefinition(t *testing.T) {
	for _, tt := range []struct {
		def  resource.Definition
		want ResourceDefinitionSpec
	}{
		{
			*resourceDefinition,
			ResourceDefinitionSpec{
				Type: "ResourceDefinitions.meta.cosi.dev", DisplayType: "ResourceDefinition", DefaultNamespace: "meta",
				Aliases: []string{"api-resources", "resourcedefinition", "rd", "rds"},
				AllAliases: []string{
					"resourcedefinitions", "resourcedefinitions.meta", "resourcedefinitions.meta.cosi",
					"api-resources", "resourcedefinition", "rd", "rds",
				},
				PrintColumns: []resource.PrintColumn{{Name: "Aliases", JSONPath: "{.aliases[:]}"}},
			},
		},
		{
			resource.Definition{Type: "AddressStatuses.net.talos.dev", Sensitivity: resource.Sensitive},
			ResourceDefinitionSpec{
				Type: "AddressStatuses.net.talos.dev", DisplayType: "AddressStatus",
				Aliases:     []string{"addressstatus", "as"},
				AllAliases:  []string{"addressstatuses", "addressstatuses.net", "addressstatuses.net.talos", "addressstatus", "as"},
				Sensitivity: resource.Sensitive,
			},
		},
		{
			resource.Definition{Type: "Members.cluster", Aliases: []string{"m"}, SkipAutomaticAliases: true},
			ResourceDefinitionSpec{
				Type: "Members.cluster", DisplayType: "Member", Aliases: []string{"m"}, AllAliases: []string{"m"}, SkipAutomaticAliases: true,
			},
		},
		{
			resource.Definition{Type: "Members.cluster"},
			ResourceDefinitionSpec{Type: "Members.cluster", DisplayType: "Member", Aliases: []string{"member"}, AllAliases: []string{"members", "member"}},
		},
	} {
		rd, err := NewResourceDefinition(&tt.def)
		if err != nil {
			t.Errorf("%s: %v", tt.def.Type, err)

			continue
		}

		if diff := cmp.Diff(tt.want, *rd.TypedSpec()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.def.Type, diff)
		}

		if got := rd.Metadata().ID(); got != strings.ToLower(tt.def.Type) {
			t.Errorf("id: got %s", got)
		}
	}
}

func TestResourceDefinitionErrors(t *testing.T) {
	for typ, want := range map[string]string{
		"Links":            "no suffix",
		".net":             "empty name",
		"Links.":           "empty suffix",
		"links.net":        "CamelCase",
		"Li_nks.net":       "does not match",
		"Links.Net":        "does not match",
		"Links.net..dev":   "does not match",
		"Link.net.dev":     "plural",
		"LinkStatus.net.x": "does not match",
		"LinkStatus.net":   "plural",
	} {
		if _, err := NewResourceDefinition(&resource.Definition{Type: typ}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", typ, err, want)
		}
	}

	if err := new(resource.Sensitivity).UnmarshalText([]byte("very")); err == nil {
		t.Error("an unknown sensitivity was accepted")
	}
}

func TestEncodings(t *testing.T) {
	rd, err := NewResourceDefinition(&resource.Definition{Type: "Links.net", Sensitivity: resource.Sensitive, PrintColumns: []resource.PrintColumn{{Name: "Up", JSONPath: "{.up}"}}})
	if err != nil {
		t.Fatal(err)
	}

	text, err := rd.YAMLSpec()
	if err != nil {
		t.Fatal(err)
	}

	want := "type: Links.net\ndisplayType: Link\ndefaultNamespace: \"\"\naliases:\n    - link\nallAliases:\n    - links\n    - link\n" +
		"printColumns:\n    - name: Up\n      jsonPath: '{.up}'\nsensitivity: sensitive\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}

	b, err := rd.ProtoSpec()
	if err != nil {
		t.Fatal(err)
	}

	var back ResourceDefinitionSpec
	if err := protoenc.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(*rd.TypedSpec(), back); diff != "" {
		t.Errorf("protobuf (-want +got):\n%s", diff)
	}

	if b[len(b)-2] != 7<<3 || b[len(b)-1] != 1 {
		t.Errorf("sensitivity: got % x, want field 7 to be 1", b[len(b)-2:])
	}

	plain, err := NewResourceDefinition(&resource.Definition{Type: "Links.net"})
	if err != nil {
		t.Fatal(err)
	}

	if text, _ := plain.YAMLSpec(); strings.Contains(text, "sensitivity") || strings.Contains(text, "skip") {
		t.Errorf("got %s, want no empty keys", text)
	}
}

func TestRegister(t *testing.T) {
	ctx := t.Context()
	st := memory.New()

	if err := Register(ctx, st); err != nil {
		t.Fatal(err)
	}

	// An earlier version of the program had another description.
	if err := RegisterNamespace(ctx, st, NamespaceName, "of old"); err != nil {
		t.Fatal(err)
	}

	for range 2 {
		if err := Register(ctx, st); err != nil {
			t.Errorf("again: %v", err)
		}
	}

	r, err := st.Get(ctx, resource.PointerOf[NamespaceSpec]("", "meta"))
	if err != nil || r.Metadata().Version() != 3 || r.Spec().(*NamespaceSpec).Description == "of old" {
		t.Errorf("got %v (%v), %v, want version 3 with the description of now", r.Metadata(), r.Spec(), err)
	}

	for ptr, want := range map[resource.Pointer]string{
		resource.PointerOf[NamespaceSpec]("", "meta"):                                           "meta",
		resource.PointerOf[ResourceDefinitionSpec]("", "namespaces.meta.cosi.dev"):              "meta",
		resource.PointerOf[ResourceDefinitionSpec]("meta", "resourcedefinitions.meta.cosi.dev"): "meta",
	} {
		r, err := st.Get(ctx, ptr)
		if err != nil || r.Metadata().Owner() != want {
			t.Errorf("%s: got %v, %v, want owner %s", ptr, r, err, want)
		}
	}

	if err := RegisterTypes(); err != nil {
		t.Error(err)
	}
}
