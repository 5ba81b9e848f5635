package dashboard

import (
	"os"
	"testing"
	"time"
	"math/rand/v2"
	"context"

	"github.com/seed-59268b81/talos/config/talosconfig"
	"github.com/seed-59268b81/talos/api/machine"
	cosi "github.com/seed-59268b81/talos/api/cosi/v1alpha1"
	"github.com/seed-59268b81/talos/cosi/meta"
	"github.com/seed-59268b81/talos/client"
	"github.com/seed-59268b81/talos/client/clienttest"
	"github.com/seed-59268b81/talos/cosi/resource"
	"github.com/seed-59268b81/talos/resources/network"
	"github.com/seed-59268b81/talos/resources/k8s"
	"github.com/seed-59268b81/talos/resources/runtime"
	"github.com/seed-59268b81/talos/resources/block"
	"github.com/seed-59268b81/talos/resources/etcd"
)

func TestLive(t *testing.T) {
	if os.Getenv("LIVE") == "" { t.Skip() }
	network.Register(); k8s.Register(); runtime.Register(); block.Register(); etcd.Register(); meta.RegisterTypes()
	const service = "machine.MachineService/"
	var rds []*cosi.Resource
	for _, d := range resource.RegisteredTypes() {
		rd, err := meta.NewResourceDefinition(d)
		if err != nil { t.Fatal(err) }
		y, _ := resource.YAMLSpec(rd)
		rds = append(rds, clienttest.Resource("meta", "ResourceDefinitions.meta.cosi.dev", rd.Metadata().ID(), y))
	}
	scripts := map[string]clienttest.Script{
		service + "LoadAvg":    clienttest.Answer(&machine.LoadAvgResponse{Messages: []*machine.LoadAvg{{Load1: 1.25, Load5: 0.75, Load15: 0.4}}}),
		service + "SystemStat": clienttest.Answer(&machine.SystemStatResponse{Messages: []*machine.SystemStat{sampleStat(10, 10)}}),
		service + "Processes":  clienttest.Answer(&machine.ProcessesResponse{Messages: []*machine.Process{{Processes: sampleProcesses()}}}),
	}
	live := &clienttest.Node{Version: sampleVersion, Memory: sampleMemory(), Services: sampleServices(), Resources: append(sampleResources(t), rds...),
		Logs: map[string]string{client.SystemNamespace + "/etcd": sampleLog, client.SystemNamespace+"/machined": sampleLog}, Scripts: scripts}
	down := &clienttest.Node{}
	down.SetDown(true)
	w := &clienttest.Node{Version: sampleVersion, Memory: sampleMemory(), Services: sampleServices()[:4], Resources: append(sampleResources(t), rds...), Scripts: scripts}
	s := clienttest.Start(t, map[string]*clienttest.Node{"": live, "10.5.0.2": live, "10.5.0.3": down, "10.5.0.4": w})
	s.Context.Nodes = []string{"10.5.0.2", "10.5.0.3", "10.5.0.4"}
	if err := talosconfig.New("lab", s.Context).Save("/tmp/dash/talosconfig"); err != nil { t.Fatal(err) }
	_ = rand.Int
	_ = context.Background
	busy, idle := 0.0, 0.0
	for range 400 {
		time.Sleep(time.Second)
		f := 0.2 + 0.6*rand.Float64()
		busy += 2*f; idle += 2*(1-f)
		st := sampleStat(busy, idle)
		st.BootTime = uint64(time.Now().Add(-3*time.Hour).Unix())
		_ = st
		*scripts[service+"SystemStat"].Answers[0].(*machine.SystemStatResponse).Messages[0] = machine.SystemStat{BootTime: st.BootTime, CpuTotal: st.CpuTotal, Cpu: st.Cpu, ProcessRunning: 2}
		pp := sampleProcesses()
		pp[2].CpuTime += busy*0.7; pp[1].CpuTime += busy*0.2; pp[0].CpuTime += busy*0.05
		scripts[service+"Processes"].Answers[0].(*machine.ProcessesResponse).Messages[0] = &machine.Process{Processes: pp}
		if _, err := os.Stat("/tmp/dash/stop"); err == nil { return }
	}
}
