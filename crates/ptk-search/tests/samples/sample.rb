require "json"

# Reading and writing.
module Storage
  # A file.
  class Document < Base
    attr_reader :path

    def initialize(path)
      @path = path
    end

    def self.open(path)
      new(path)
    end
  end
end

def helper
  Storage::Document.open("x")
end

puts helper
