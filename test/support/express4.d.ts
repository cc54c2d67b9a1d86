/** Express 4 under another name, for the contract suite; what the suite uses is the same in the types of 5. */
declare module 'express4' {
  import express from 'express'
  export default express
}
