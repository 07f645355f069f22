"use strict";
const fs = require("fs");

// Reads.
function read(path) {
  return fs.readFileSync(path);
}

class Cache {
  static size = 10;

  get(key) {
    return this.map[key];
  }
}

const write = function (path) {
  fs.writeFileSync(path, "");
};

function* count() {
  yield 1;
}

module.exports = { read, write };
