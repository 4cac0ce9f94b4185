package hardware

// Vehicle says how a vehicle is reached that speaks MAVLink: an entry of mavlink_publisher's parameter vehicles.
type Vehicle struct {
	Source string `param:"source" group:"Vehicle" value:"URL" help:"serial:/dev/ttyACM0:57600, udp://:14550, tcp://host:5760, or a .tlog file"`
	System int    `param:"system" group:"Vehicle" min:"0" max:"255" help:"system id of the vehicle; 0: whichever there is"`
}

// DefaultVehicle returns what holds for a vehicle of which nothing else is said.
func DefaultVehicle() Vehicle { return Vehicle{} }
