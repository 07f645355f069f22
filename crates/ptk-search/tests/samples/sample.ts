import { a } from "./a";

/** How a thing looks. */
export interface Shape {
  area(): number;
}

export type Id = string | number;

export enum Color {
  Red,
  Green,
}

/** Draws shapes. */
@Injectable()
export abstract class Painter<T> implements Shape {
  private count = 0;

  constructor(private readonly brush: T) {}

  area(): number {
    return this.count;
  }

  protected handler = () => {
    this.count += 1;
  };
}

export const add = (a: number, b: number): number => {
  return a + b;
};

const short = 1;

namespace Inner {
  export function deep(): void {}
}

export default function main() {
  add(1, 2);
}
