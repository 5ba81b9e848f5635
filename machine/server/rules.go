// SPDX-License-Identifier: Apache-2.0

//go:build linux

package server

import "github.com/seed-59268b81/talos/api/contract"

// Roles that may make a call; one of them is enough.
var (
	admins    = []string{contract.RoleAdmin}
	operators = []string{contract.RoleAdmin, contract.RoleOperator}
	readers   = []string{contract.RoleAdmin, contract.RoleOperator, contract.RoleReader}
	// For backups of etcd.
	etcdReaders = []string{contract.RoleAdmin, contract.RoleOperator, contract.RoleReader, contract.RoleEtcdBackup}
	etcdBackups = []string{contract.RoleAdmin, contract.RoleOperator, contract.RoleEtcdBackup}

	metaWriters    = []string{contract.RoleAdmin, contract.RoleMetaWriter}
	imageVerifiers = []string{contract.RoleAdmin, contract.RoleOperator, contract.RoleReader, contract.RoleImageVerifier}
	// installers are administrators and, while the machine has no configuration, everyone (in maintenance mode every caller is
	// a reader): see unconfigured.
	installers = []string{contract.RoleAdmin, contract.RoleReader}
)

// rules are the roles that may make each call. Every method of every service is listed. A method without a rule would be for
// administrators only.
var rules = ruleTable([]ruleSet{
	{"/machine.MachineService/", readers, []string{
		"CPUFreqStats", "CPUInfo", "Containers", "DiskStats", "DiskUsage", "Dmesg", "Events", "Hostname", "ImageList", "List",
		"LoadAvg", "Logs", "LogsContainers", "Memory", "Mounts", "Netstat", "NetworkDeviceStats", "Processes", "ServiceList",
		"Stats", "SystemStat", "Version",
	}},
	{"/machine.MachineService/", operators, []string{
		"EtcdAlarmDisarm", "EtcdDefragment", "ImagePull", "PacketCapture", "Reboot", "Restart", "ServiceRestart", "ServiceStart",
		"ServiceStop", "Shutdown",
	}},
	{"/machine.MachineService/", admins, []string{
		"Bootstrap", "Copy", "EtcdDowngradeCancel", "EtcdDowngradeEnable", "EtcdDowngradeValidate", "EtcdForfeitLeadership",
		"EtcdLeaveCluster", "EtcdRecover", "EtcdRemoveMemberByID", "GenerateClientConfiguration", "Kubeconfig", "Read",
		"Rollback", "Upgrade",
	}},
	{"/machine.MachineService/", etcdReaders, []string{"EtcdAlarmList", "EtcdMemberList", "EtcdStatus"}},
	{"/machine.MachineService/", etcdBackups, []string{"EtcdSnapshot"}},
	{"/machine.MachineService/", metaWriters, []string{"MetaDelete", "MetaWrite"}},
	{"/machine.MachineService/", installers, []string{"ApplyConfiguration", "Reset"}},
	{"/machine.ImageService/", readers, []string{"List"}},
	{"/machine.ImageService/", operators, []string{"Pull"}},
	{"/machine.ImageService/", admins, []string{"Import", "Remove"}},
	{"/machine.ImageService/", imageVerifiers, []string{"Verify"}},
	{"/machine.LifecycleService/", admins, []string{"Install", "Upgrade"}},
	{"/machine.DebugService/", admins, []string{"ContainerRun"}},
	{"/machine.LVMService/", installers, []string{"LogicalVolumeRemove", "PhysicalVolumeRemove", "VolumeGroupRemove"}},
	{"/machine.MDService/", installers, []string{"Destroy"}},
	{"/machine.StorageService/", readers, []string{"Statfs"}},
	{"/storage.StorageService/", readers, []string{"Disks"}},
	{"/storage.StorageService/", installers, []string{"BlockDeviceWipe"}},
	{"/time.TimeService/", readers, []string{"Time", "TimeCheck"}},
	{"/inspect.InspectService/", readers, []string{"ControllerRuntimeDependencies"}},
	{"/cluster.ClusterService/", readers, []string{"HealthCheck"}},
	{"/trial.TrialService/", admins, []string{"Confirm"}},
	// Sensitive types are for administrators: see ByRole. Writes are refused: see ReadOnly.
	{"/cosi.resource.State/", readers, []string{"Get", "List", "Watch"}},
	{"/cosi.resource.State/", admins, []string{"Create", "Destroy", "Teardown", "TeardownAndDestroy", "Update"}},
})

// unconfigured are the calls that only administrators may make once there is a configuration. The handler of
// ApplyConfiguration checks this again while it takes the configuration.
var unconfigured = map[string]bool{
	"/machine.MachineService/ApplyConfiguration": true,
	"/machine.MachineService/Reset":              true,
	"/machine.LVMService/LogicalVolumeRemove":    true,
	"/machine.LVMService/PhysicalVolumeRemove":   true,
	"/machine.LVMService/VolumeGroupRemove":      true,
	"/machine.MDService/Destroy":                 true,
	"/storage.StorageService/BlockDeviceWipe":    true,
}

// ruleSet is a set of methods of one service with the same roles.
type ruleSet struct {
	service string
	roles   []string
	methods []string
}

func ruleTable(sets []ruleSet) map[string][]string {
	table := map[string][]string{}

	for _, set := range sets {
		for _, method := range set.methods {
			if _, twice := table[set.service+method]; twice {
				panic("server: two rules for " + set.service + method)
			}

			table[set.service+method] = set.roles
		}
	}

	return table
}
