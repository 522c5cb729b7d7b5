within;
package Plane "points in a vertical plane, joined by forces"
  constant Real g(unit = "m/s2") = 9.81;

  connector Point "a place, and the force on the part there"
    Real x(unit = "m");
    Real y(unit = "m");
    flow Real fx(unit = "N");
    flow Real fy(unit = "N");
  end Point;

  model Pivot "a point that never moves"
    Point point;
  equation
    point.x = 0;
    point.y = 0;
  end Pivot;

  model Rod "a rod of fixed length and no mass"
    Point a;
    Point b;
    parameter Real L(unit = "m", min = 0) = 1;
    Real tension(unit = "N/m") "tension per length";
  equation
    (b.x - a.x)^2 + (b.y - a.y)^2 = L^2;
    b.fx = tension*(b.x - a.x);
    b.fy = tension*(b.y - a.y);
    a.fx + b.fx = 0;
    a.fy + b.fy = 0;
  end Rod;

  model Mass "a heavy point"
    Point point;
    parameter Real m(unit = "kg", min = 0) = 0.3;
    Real vx(unit = "m/s");
    Real vy(unit = "m/s");
  equation
    der(point.x) = vx;
    der(point.y) = vy;
    m*der(vx) = point.fx;
    m*der(vy) = point.fy - m*g;
  end Mass;

  model Pendulum "index 3: the tension keeps the length of the rod"
    Pivot pivot;
    Rod rod(L = 1);
    Mass mass(m = 0.3, point(x(start = 0, fixed = true), y(start = -1)), vx(start = 3, fixed = true));
    output Real angle(unit = "rad") = atan2(mass.point.x, -mass.point.y);
  equation
    connect(pivot.point, rod.a);
    connect(rod.b, mass.point);
  end Pendulum;
end Plane;
