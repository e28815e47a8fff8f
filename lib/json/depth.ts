/**
 * Returns true when objects and lists are nested in more than so many levels. Walks without recursion:
 * a hostile text must not choose the depth of our stack.
 */
export function isDeeperThan (value: unknown, levels: number): boolean {
  let level = [value].filter(isContainer)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth >= levels) return true
    const next: object[] = []
    for (const container of level) {
      // `for in` over an array makes a string of every index: 50 MB of numbers took 25 s.
      for (const child of Array.isArray(container) ? container : Object.values(container)) {
        if (isContainer(child)) next.push(child)
      }
    }
    level = next
  }
  return false
}

/**
 * Distinguishes objects and arrays from strings: `Object.values` makes one value of each character, and 20 MB
 * took ten seconds.
 */
function isContainer (value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
