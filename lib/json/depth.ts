import { isContainer } from './guards.ts'

/** Levels that are walked by recursion, which makes no lists; most bodies have fewer. */
const maxRecursion = 64

/**
 * Returns true when objects and lists are nested in more than so many levels. Beyond some levels it walks without
 * recursion: a hostile text must not choose the depth of our stack.
 */
export function isDeeperThan (value: unknown, levels: number): boolean {
  return isDeeper(value, levels, maxRecursion)
}

function isDeeper (value: unknown, levels: number, recursion: number): boolean {
  if (!isContainer(value)) return false
  if (levels === 0) return true
  if (recursion === 0) return isDeeperByLevel(value, levels)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) {
      if (isDeeper(value[index], levels - 1, recursion - 1)) return true
    }
    return false
  }
  for (const name in value) {
    if (isDeeper(Reflect.get(value, name), levels - 1, recursion - 1)) return true
  }
  return false
}

function isDeeperByLevel (value: object, levels: number): boolean {
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true
    const next: object[] = []
    for (const container of level) {
      // `for in` over an array makes a string of every index: 50 MB of numbers took 25 s. Strings are no containers:
      // `Object.values` makes one value of each character, and 20 MB took ten seconds.
      for (const child of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(child)) next.push(child)
      }
    }
    level = next
  }
  return false
}
