within;
package Drives "a motor that turns a disc through a gearbox and a weak shaft"
  connector Pin "potential, and the current into the part"
    Real v(unit = "V");
    flow Real i(unit = "A");
  end Pin;

  connector Flange "angle, and the torque on the part"
    Real phi(unit = "rad");
    flow Real tau(unit = "N.m");
  end Flange;

  partial model TwoPins "v from p to n, i through it"
    Pin p;
    Pin n;
    Real v(unit = "V");
    Real i(unit = "A");
  equation
    v = p.v - n.v;
    p.i = i;
    n.i = -i;
  end TwoPins;

  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;

  model VoltageSource
    extends TwoPins;
    input Real u(unit = "V");
  equation
    v = u;
  end VoltageSource;

  model Resistor
    extends TwoPins;
    parameter Real R(unit = "Ohm") = 1;
  equation
    v = R*i;
  end Resistor;

  model Motor "an ideal machine: voltage to speed as torque to current"
    extends TwoPins;
    parameter Real k(unit = "N.m/A") = 1;
    Flange flange;
    Real w(unit = "rad/s");
  equation
    w = der(flange.phi);
    v = k*w;
    flange.tau = -k*i;
  end Motor;

  partial model TwoFlanges
    Flange flange_a;
    Flange flange_b;
  end TwoFlanges;

  model Inertia
    extends TwoFlanges;
    parameter Real J(unit = "kg.m2", min = 0) = 1;
    Real phi(unit = "rad", start = 0, fixed = true);
    Real w(unit = "rad/s", start = 0, fixed = true);
  equation
    phi = flange_a.phi;
    phi = flange_b.phi;
    w = der(phi);
    J*der(w) = flange_a.tau + flange_b.tau;
  end Inertia;

  model Gear
    extends TwoFlanges;
    parameter Real ratio = 1;
  equation
    flange_a.phi = ratio*flange_b.phi;
    ratio*flange_a.tau + flange_b.tau = 0;
  end Gear;

  partial model Compliant "a part that transmits a torque"
    extends TwoFlanges;
    Real phi_rel(unit = "rad");
    Real w_rel(unit = "rad/s");
    Real tau(unit = "N.m");
  equation
    phi_rel = flange_b.phi - flange_a.phi;
    w_rel = der(phi_rel);
    flange_b.tau = tau;
    flange_a.tau = -tau;
  end Compliant;

  model SpringDamper
    extends Compliant;
    parameter Real c(unit = "N.m/rad", min = 0) = 1;
    parameter Real d(unit = "N.m.s/rad", min = 0) = 0;
  equation
    tau = c*phi_rel + d*w_rel;
  end SpringDamper;

  model Damper
    extends Compliant;
    parameter Real d(unit = "N.m.s/rad", min = 0) = 1;
  equation
    tau = d*w_rel;
  end Damper;

  model Fixed
    Flange flange;
  equation
    flange.phi = 0;
  end Fixed;

  model Drive
    input Real u(unit = "V") "voltage of the supply";
    output Real speed(unit = "rad/s") = rotor.w;
    output Real current(unit = "A") = winding.i;
    VoltageSource supply(u = u);
    Ground ground;
    Resistor winding(R = 1.2);
    Motor motor(k = 0.05);
    Inertia rotor(J = 1e-3);
    Gear gear(ratio = 5);
    SpringDamper shaft(c = 2, d = 0.01);
    Inertia disc(J = 0.05);
    Damper bearing(d = 0.02);
    Fixed frame;
  equation
    connect(supply.p, winding.p);
    connect(winding.n, motor.p);
    connect(motor.n, supply.n);
    connect(supply.n, ground.p);
    connect(motor.flange, rotor.flange_a);
    connect(rotor.flange_b, gear.flange_a);
    connect(gear.flange_b, shaft.flange_a);
    connect(shaft.flange_b, disc.flange_a);
    connect(disc.flange_b, bearing.flange_a);
    connect(bearing.flange_b, frame.flange);
  end Drive;
end Drives;
