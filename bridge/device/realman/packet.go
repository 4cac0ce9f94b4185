package realman

// packet has the fields of all replies and packets.
type packet struct {
	State   word `json:"state"`
	Command word `json:"command"`
	errorCodes
	GetState  word `json:"get_state"` // false in replies without values
	ReadState word `json:"read_state"`

	// Replies.
	ArmState struct {
		Joint numbers `json:"joint"`
		Pose  numbers `json:"pose"`
		errorCodes
	} `json:"arm_state"`
	Joint            numbers `json:"joint"`
	ErrFlag          numbers `json:"err_flag"`
	EnState          numbers `json:"en_state"`
	JointTemperature numbers `json:"joint_temperature"`
	JointCurrent     numbers `json:"joint_current"`
	JointVoltage     numbers `json:"joint_voltage"`
	Voltage          numbers `json:"voltage"`
	Current          numbers `json:"current"`
	Temperature      numbers `json:"temperature"`
	Status           numbers `json:"status"`
	Error            numbers `json:"error"`
	Mode             numbers `json:"mode"`
	CurrentForce     numbers `json:"current_force"`
	ActPos           numbers `json:"actpos"`
	ForceData        numbers `json:"force_data"`
	ZeroForceData    numbers `json:"zero_force_data"`
	Product          word    `json:"Product_version"`
	CtrlInfo         struct {
		Version word `json:"version"`
	} `json:"ctrl_info"`

	// Packets.
	JointStatus struct {
		Current     numbers `json:"joint_current"`
		EnFlag      numbers `json:"joint_en_flag"`
		ErrCode     numbers `json:"joint_err_code"`
		Position    numbers `json:"joint_position"`
		Speed       numbers `json:"joint_speed"`
		Temperature numbers `json:"joint_temperature"`
		Voltage     numbers `json:"joint_voltage"`
	} `json:"joint_status"`
	Waypoint struct {
		Position numbers `json:"position"`
		Euler    numbers `json:"euler"`
		Quat     numbers `json:"quat"`
	} `json:"waypoint"`
	Motion   word  `json:"arm_current_status"`
	SixForce force `json:"six_force_sensor"`
	OneForce force `json:"one_force_sensor"`
	Lift     struct {
		Height  numbers `json:"height"`
		ErrFlag numbers `json:"err_flag"`
	} `json:"lift_state"`
	Handle struct {
		IO1 numbers `json:"io1_state"`
		IO2 numbers `json:"io2_state"`
	} `json:"aloha_state"`
	Hand struct {
		Pos       numbers `json:"pos"`
		HandPos   numbers `json:"hand_pos"`
		HandForce numbers `json:"hand_force"`
		HandErr   numbers `json:"hand_err"`
	} `json:"hand"`
	PlusState plus `json:"rm_plus_state"`
	PlusBase  plus `json:"rm_plus_base"`
}

// errorCodes are the errors of an arm: ArmErr and SysErr of the second generation, Err of the third and fourth.
type errorCodes struct {
	ArmErr numbers `json:"arm_err"`
	SysErr numbers `json:"sys_err"`
	Err    codes   `json:"err"`
}

// force is the reading of a sensor in a packet.
type force struct {
	Force      numbers `json:"force"`
	ZeroForce  numbers `json:"zero_force"`
	Coordinate numbers `json:"coordinate"`
}

// plus is the state of a device at the end of an arm of the fourth generation.
type plus struct {
	SysErr   numbers `json:"sys_err"`
	DofState numbers `json:"dof_state"`
	Pos      numbers `json:"pos"`
	Force    numbers `json:"force"`
	DoF      numbers `json:"dof"`
}
