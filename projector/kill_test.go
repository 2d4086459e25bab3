package projector_test

const childURL = "TACHO_TEST_CHILD_URL"

func child() int { return 0 }
