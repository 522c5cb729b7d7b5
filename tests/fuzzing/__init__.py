"""What the fuzz test calls, and with what: a valid call of every public function, and a pool of odd values."""
