/** Patterns out of prompts: squares in a few colours, the same for the same prompt. */

import { hash, randomFrom } from './random.ts'
import type { Raster } from './png.ts'

export interface Picture {
  readonly text: string
  /** Which of several pictures for one text, from 0. */
  readonly number: number
  readonly width: number
  readonly height: number
  /** A disc on nothing instead of a full sheet. */
  readonly transparent: boolean
  /** Squares along each side: an unfinished picture has fewer. */
  readonly squares: number
}

/** @returns exactly `width` by `height` pixels */
export function paint ({ text, number, width, height, transparent, squares }: Picture): Raster {
  const random = randomFrom(hash(text) ^ Math.imul(number + 1, 0x9e3779b1))
  const palette = Array.from({ length: 5 }, () => Math.floor(random() * 0x1000000))
  const colours = Array.from({ length: squares * squares }, () => palette[Math.floor(random() * palette.length)] ?? 0)
  const pixels = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y++) {
    const row = Math.floor(y * squares / height) * squares
    for (let x = 0; x < width; x++) {
      const inside = !transparent || Math.hypot(x / width - 0.5, y / height - 0.5) < 0.5
      const colour = colours[row + Math.floor(x * squares / width)] ?? 0
      pixels.writeUInt32BE(inside ? colour * 256 + 255 : 0, (y * width + x) * 4)
    }
  }
  return { width, height, pixels }
}
