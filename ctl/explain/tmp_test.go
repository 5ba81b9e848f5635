package explain
import ("os";"testing"
	"github.com/seed-59268b81/talos/api/inspect"
	"github.com/seed-59268b81/talos/ctl/graph"
	"github.com/seed-59268b81/talos/controllers/network"
	"github.com/seed-59268b81/talos/cosi/memory"
	"github.com/seed-59268b81/talos/cosi/runtime"
)
func TestTmp(t *testing.T) {
	var out, net []*inspect.ControllerDependencyEdge
	for _, e := range realEdges(t) { k := inspect.DependencyEdgeType_INPUT_WEAK; if e.Output { k = inspect.DependencyEdgeType_OUTPUT_EXCLUSIVE }
		out = append(out, &inspect.ControllerDependencyEdge{ControllerName:e.Controller, EdgeType: k, ResourceNamespace:e.Namespace, ResourceType:e.Type, ResourceId:e.ID}) }
	rt := runtime.New(memory.New(), nil)
	for _, c := range network.Controllers(&network.Deps{}) { rt.RegisterController(c) }
	kinds := map[runtime.EdgeKind]inspect.DependencyEdgeType{0:0,1:3,2:1,3:2,4:4,5:1,6:2,7:4}
	for _, e := range rt.Graph() { net = append(net, &inspect.ControllerDependencyEdge{ControllerName:e.Controller, EdgeType: kinds[e.Kind], ResourceNamespace:e.Namespace, ResourceType:e.Type, ResourceId:e.ID}) }
	f, _ := os.Create("/tmp/g.svg"); graph.SVG(f, out, nil); f.Close()
	f, _ = os.Create("/tmp/gn.svg"); graph.SVG(f, net, nil); f.Close()
}
