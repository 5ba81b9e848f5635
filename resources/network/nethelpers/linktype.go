// SPDX-License-Identifier: Apache-2.0

package nethelpers

import "github.com/seed-59268b81/talos/resources/enum"

// LinkType is the hardware type of a link (ARPHRD_*).
type LinkType uint16

// The link types.
const (
	LinkTypeNetrom            LinkType = 0
	LinkTypeEther             LinkType = 1
	LinkTypeEether            LinkType = 2
	LinkTypeAx25              LinkType = 3
	LinkTypePronet            LinkType = 4
	LinkTypeChaos             LinkType = 5
	LinkTypeIee802            LinkType = 6
	LinkTypeArcnet            LinkType = 7
	LinkTypeAtalk             LinkType = 8
	LinkTypeDlci              LinkType = 15
	LinkTypeAtm               LinkType = 19
	LinkTypeMetricom          LinkType = 23
	LinkTypeIeee1394          LinkType = 24
	LinkTypeEui64             LinkType = 27
	LinkTypeInfiniband        LinkType = 32
	LinkTypeSlip              LinkType = 256
	LinkTypeCslip             LinkType = 257
	LinkTypeSlip6             LinkType = 258
	LinkTypeCslip6            LinkType = 259
	LinkTypeRsrvd             LinkType = 260
	LinkTypeAdapt             LinkType = 264
	LinkTypeRose              LinkType = 270
	LinkTypeX25               LinkType = 271
	LinkTypeHwx25             LinkType = 272
	LinkTypeCan               LinkType = 280
	LinkTypePpp               LinkType = 512
	LinkTypeHdlc              LinkType = 513
	LinkTypeLapb              LinkType = 516
	LinkTypeDdcmp             LinkType = 517
	LinkTypeRawhdlc           LinkType = 518
	LinkTypeTunnel            LinkType = 768
	LinkTypeTunnel6           LinkType = 769
	LinkTypeFrad              LinkType = 770
	LinkTypeSkip              LinkType = 771
	LinkTypeLoopback          LinkType = 772
	LinkTypeLocaltlk          LinkType = 773
	LinkTypeFddi              LinkType = 774
	LinkTypeBif               LinkType = 775
	LinkTypeSit               LinkType = 776
	LinkTypeIpddp             LinkType = 777
	LinkTypeIpgre             LinkType = 778
	LinkTypePimreg            LinkType = 779
	LinkTypeHippi             LinkType = 780
	LinkTypeAsh               LinkType = 781
	LinkTypeEconet            LinkType = 782
	LinkTypeIrda              LinkType = 783
	LinkTypeFcpp              LinkType = 784
	LinkTypeFcal              LinkType = 785
	LinkTypeFcpl              LinkType = 786
	LinkTypeFcfabric          LinkType = 787
	LinkTypeFcfabric1         LinkType = 788
	LinkTypeFcfabric2         LinkType = 789
	LinkTypeFcfabric3         LinkType = 790
	LinkTypeFcfabric4         LinkType = 791
	LinkTypeFcfabric5         LinkType = 792
	LinkTypeFcfabric6         LinkType = 793
	LinkTypeFcfabric7         LinkType = 794
	LinkTypeFcfabric8         LinkType = 795
	LinkTypeFcfabric9         LinkType = 796
	LinkTypeFcfabric10        LinkType = 797
	LinkTypeFcfabric11        LinkType = 798
	LinkTypeFcfabric12        LinkType = 799
	LinkTypeIee802tr          LinkType = 800
	LinkTypeIee80211          LinkType = 801
	LinkTypeIee80211prism     LinkType = 802
	LinkTypeIee80211radiotap  LinkType = 803
	LinkTypeIee8021154        LinkType = 804
	LinkTypeIee8021154monitor LinkType = 805
	LinkTypePhonet            LinkType = 820
	LinkTypePhonetpipe        LinkType = 821
	LinkTypeCaif              LinkType = 822
	LinkTypeIp6gre            LinkType = 823
	LinkTypeNetlink           LinkType = 824
	LinkType6lowpan           LinkType = 825
	LinkTypeVoid              LinkType = 65535
	LinkTypeNone              LinkType = 65534
)

var linkTypeNames = enum.Names[LinkType]{
	LinkTypeNetrom:            "netrom",
	LinkTypeEther:             "ether",
	LinkTypeEether:            "eether",
	LinkTypeAx25:              "ax25",
	LinkTypePronet:            "pronet",
	LinkTypeChaos:             "chaos",
	LinkTypeIee802:            "ieee802",
	LinkTypeArcnet:            "arcnet",
	LinkTypeAtalk:             "atalk",
	LinkTypeDlci:              "dlci",
	LinkTypeAtm:               "atm",
	LinkTypeMetricom:          "metricom",
	LinkTypeIeee1394:          "ieee1394",
	LinkTypeEui64:             "eui64",
	LinkTypeInfiniband:        "infiniband",
	LinkTypeSlip:              "slip",
	LinkTypeCslip:             "cslip",
	LinkTypeSlip6:             "slip6",
	LinkTypeCslip6:            "cslip6",
	LinkTypeRsrvd:             "rsrvd",
	LinkTypeAdapt:             "adapt",
	LinkTypeRose:              "rose",
	LinkTypeX25:               "x25",
	LinkTypeHwx25:             "hwx25",
	LinkTypeCan:               "can",
	LinkTypePpp:               "ppp",
	LinkTypeHdlc:              "hdlc",
	LinkTypeLapb:              "lapb",
	LinkTypeDdcmp:             "ddcmp",
	LinkTypeRawhdlc:           "rawhdlc",
	LinkTypeTunnel:            "ipip",
	LinkTypeTunnel6:           "tunnel6",
	LinkTypeFrad:              "frad",
	LinkTypeSkip:              "skip",
	LinkTypeLoopback:          "loopback",
	LinkTypeLocaltlk:          "localtlk",
	LinkTypeFddi:              "fddi",
	LinkTypeBif:               "bif",
	LinkTypeSit:               "sit",
	LinkTypeIpddp:             "ipddp",
	LinkTypeIpgre:             "gre",
	LinkTypePimreg:            "pimreg",
	LinkTypeHippi:             "hippi",
	LinkTypeAsh:               "ash",
	LinkTypeEconet:            "econet",
	LinkTypeIrda:              "irda",
	LinkTypeFcpp:              "fcpp",
	LinkTypeFcal:              "fcal",
	LinkTypeFcpl:              "fcpl",
	LinkTypeFcfabric:          "fcfabric",
	LinkTypeFcfabric1:         "fcfabric1",
	LinkTypeFcfabric2:         "fcfabric2",
	LinkTypeFcfabric3:         "fcfabric3",
	LinkTypeFcfabric4:         "fcfabric4",
	LinkTypeFcfabric5:         "fcfabric5",
	LinkTypeFcfabric6:         "fcfabric6",
	LinkTypeFcfabric7:         "fcfabric7",
	LinkTypeFcfabric8:         "fcfabric8",
	LinkTypeFcfabric9:         "fcfabric9",
	LinkTypeFcfabric10:        "fcfabric10",
	LinkTypeFcfabric11:        "fcfabric11",
	LinkTypeFcfabric12:        "fcfabric12",
	LinkTypeIee802tr:          "ieee802_tr",
	LinkTypeIee80211:          "ieee80211",
	LinkTypeIee80211prism:     "ieee80211prism",
	LinkTypeIee80211radiotap:  "ieee80211_radiotap",
	LinkTypeIee8021154:        "ieee8021154",
	LinkTypeIee8021154monitor: "ieee8021154monitor",
	LinkTypePhonet:            "phonet",
	LinkTypePhonetpipe:        "phonetpipe",
	LinkTypeCaif:              "caif",
	LinkTypeIp6gre:            "gre6",
	LinkTypeNetlink:           "netlink",
	LinkType6lowpan:           "6lowpan",
	LinkTypeVoid:              "void",
	LinkTypeNone:              "none",
}

func (l LinkType) String() string                   { return linkTypeNames.Text(l) }
func (l LinkType) MarshalText() ([]byte, error)     { return linkTypeNames.Marshal(l) }
func (l *LinkType) UnmarshalText(text []byte) error { return linkTypeNames.Parse("link type", text, l) }
