model HeatRod "a rod in slices, heated at its left end and cooled along its length"
  parameter Integer n = 8 "slices";
  parameter Real L(unit = "m", min = 0) = 0.5 "length";
  parameter Real a(unit = "m2/s", min = 0) = 1e-3 "diffusivity";
  parameter Real h[n](each unit = "1/s", each min = 0) = linspace(0.01, 0.03, n) "cooling of each slice";
  final parameter Real dx(unit = "m") = L/n;
  input Real heating(unit = "K/s");
  Real T[n](each unit = "K", start = {300 + 5*i for i in 1:n}, each fixed = true);
  Real heat_flow[n + 1](each unit = "K.m/s") "between the slices";
  Real loss[n](each unit = "K/s");
  Real moments[2] "mean of the temperature, and how far it leans to the right";
  output Real ends[2](each unit = "K") = {T[1], T[end]};
protected
  parameter Real weights[2, n] = [fill(1/n, 1, n); {{(i - (n + 1)/2)/n for i in 1:n}}];
equation
  heat_flow[1] = 0;
  for i in 2:n loop
    heat_flow[i] = a*(T[i - 1] - T[i])/dx;
  end for;
  heat_flow[n + 1] = 0;
  loss = h .* (T - fill(293, n));
  moments = weights*T;
  der(T[1]) = (heat_flow[1] - heat_flow[2])/dx - loss[1] + heating;
  for i in 2:n loop
    der(T[i]) = (heat_flow[i] - heat_flow[i + 1])/dx - loss[i];
  end for;
end HeatRod;
