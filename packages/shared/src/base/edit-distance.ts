/**
 * Levenshtein's distance: how many elements to insert, remove or replace so that one sequence becomes the other. The elements are the
 * characters of a text, or what a list holds; equal ones are ===. The time grows with the product of the lengths, so a caller bounds
 * sequences that come from others.
 */
export function editDistance<Element>(from: Iterable<Element>, to: Iterable<Element>): number {
  // Numbers in one array: comparing texts, or a new array for each element, takes several times as long.
  const numbers = new Map<Element, number>();
  const [a, b] = [numbered(from, numbers), numbered(to, numbers)];
  const row = Uint32Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 0; i < a.length; i += 1) {
    let diagonal = row[0];
    row[0] = i + 1;
    for (let j = 0; j < b.length; j += 1) {
      const above = row[j + 1];
      row[j + 1] = Math.min(diagonal + (a[i] === b[j] ? 0 : 1), above + 1, row[j] + 1);
      diagonal = above;
    }
  }
  return row[b.length];
}

/** Equal elements have equal numbers; `numbers` has those of the elements until now. */
function numbered<Element>(elements: Iterable<Element>, numbers: Map<Element, number>): Uint32Array {
  return Uint32Array.from([...elements], (element) => {
    const number = numbers.get(element) ?? numbers.size;
    numbers.set(element, number);
    return number;
  });
}
