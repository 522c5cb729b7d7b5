model Thermostat "a room whose heater runs up and down, and whose window opens when it is hot"
  parameter Real C(unit = "J/K", min = 0) = 200;
  parameter Real G(unit = "W/K", min = 0) = 4;
  parameter Boolean has_window = true;
  Real T(unit = "degC", start = 10, fixed = true) "room";
  Real P(unit = "W", start = 1200, fixed = true) "heater";
  Real opening "of the window, 0 to 1";
  Real wanted(unit = "W");
  Boolean cold = T < 18;
  output Real losses(unit = "W");
equation
  C*der(T) = P - losses;
  if cold then
    wanted = 150;
    der(P) = 0.2*(wanted - P);
  elseif T < 24 then
    wanted = 150*(24 - T)/6;
    der(P) = 0.2*(wanted - P);
  else
    wanted = 0;
    der(P) = -P;
  end if;
  if has_window then
    opening = if T > 21 then min(1, (T - 21)/2) else 0;
  else
    opening = 0;
  end if;
  losses = G*(1 + 2*opening)*(T - 5*sin(time/20));
end Thermostat;
