/** Paints patterns from prompts: squares in a few colours, always the same for a prompt. */

import { hash, randomFrom } from './random.ts'
import type { Raster } from './png.ts'

export interface Picture {
  readonly text: string
  /** Index among several pictures for one text. */
  readonly number: number
  readonly width: number
  readonly height: number
  /** A disc on a transparent background instead of a full picture. */
  readonly transparent: boolean
  /** Squares along each side: an unfinished picture has fewer. */
  readonly squares: number
}

/**
 * Paints row by row rather than pixel by pixel: it blocks the event loop, and a large picture has 16 million
 * pixels.
 *
 * @returns exactly `width` by `height` pixels
 */
export function paint ({ text, number, width, height, transparent, squares }: Picture): Raster {
  const random = randomFrom(hash(text) ^ Math.imul(number + 1, 0x9e3779b1))
  const palette = Array.from({ length: 5 }, () => pixelOf(Math.floor(random() * 0x1000000)))
  const bands = Array.from({ length: squares }, () => {
    const row = Buffer.alloc(width * 4)
    for (let square = 0; square < squares; square++) {
      const colour = palette[Math.floor(random() * palette.length)] ?? row
      row.fill(colour, startOf(square, squares, width) * 4, startOf(square + 1, squares, width) * 4)
    }
    return row
  })
  const pixels = Buffer.alloc(width * height * 4)
  for (let y = 0; y < height; y++) {
    const half = transparent ? Math.sqrt(0.25 - (y / height - 0.5) ** 2) : 0.5
    const from = Math.ceil((0.5 - half) * width)
    bands[Math.floor((y * squares) / height)]?.copy(
      pixels,
      (y * width + from) * 4,
      from * 4,
      (width - from) * 4
    )
  }
  return { width, height, pixels }
}

/** Returns red, green, blue and full opacity. */
function pixelOf (colour: number): Buffer {
  const pixel = Buffer.alloc(4)
  pixel.writeUInt32BE(colour * 256 + 255)
  return pixel
}

function startOf (square: number, squares: number, width: number): number {
  return Math.ceil(square * width / squares)
}
