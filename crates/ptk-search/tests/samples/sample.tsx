import React from "react";

export function Button({ label }: { label: string }) {
  return <button className="b">{label}</button>;
}

export const List = () => (
  <ul>
    <Button label="x" />
  </ul>
);
