package affinity

import "fmt"

// Format says how the value of a session names its nodes.
type Format string

// The formats. Names come in the order in which they are to be tried.
const (
	// Recognise reads a value by each format whose separator it holds. It costs
	// nothing but that: what nobody goes by is passed over.
	Recognise Format = ""
	// JVMRoute is id.route, or id.route.route… where routes are ranked (Tomcat,
	// jvmRoute of Engine; Undertow, ranked affinity). Both id and a single route may
	// hold dots: after each dot all of the rest is tried, then the part to the next.
	JVMRoute Format = "jvmroute"
	// JEUS is id.engine, the engine's id encoded in a way that is not documented: its
	// node goes by what it writes itself.
	JEUS Format = "jeus"
	// WebLogic is id!primary!secondary, or with !time after it; the secondary may be
	// missing or NONE. A JVM's id changes when it starts again.
	WebLogic Format = "weblogic"
	// WebSphere is four characters of cache id, id, and :clone for each clone that had
	// the session, or the partition's id instead (WebSphere, "HTTP session clone ID").
	WebSphere Format = "websphere"
)

// ParseFormat reads a format; empty means [Recognise].
func ParseFormat(s string) (Format, error) {
	switch f := Format(s); f {
	case Recognise, JVMRoute, JEUS, WebLogic, WebSphere:
		return f, nil
	}
	return "", fmt.Errorf("affinity format %.40q is none of jvmroute, jeus, weblogic, websphere", s)
}
