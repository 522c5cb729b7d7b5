"""The Kalman filter and smoother as machine code, derivatives included."""
